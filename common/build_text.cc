#include "common/build_text.h"

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "paritect/build_info.h"

namespace paritect {

std::string BuildText(absl::string_view program) {
  return absl::StrCat(program, " ", kProgramVersion, "\ncommit: ", kBuildCommit, "\nbuilt for: ", kBuildMachine,
                      ", by: ", kBuildCompiler, "\nbuilt with: ", kBuildLibraries, "\n");
}

}  // namespace paritect
