// The contract of a renderer: one output format of a report, one file in render/.
#ifndef PARITECT_CLIENT_REPORT_RENDERER_H_
#define PARITECT_CLIENT_REPORT_RENDERER_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/report.pb.h"
#include "report/json.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

// How much a format for a terminal prints.
enum class Detail {
  kFirstScreen,  // the answer, causes, items in counts, what would open most
  kFailed,       // everything that failed, in full
  kFull,         // every finding and everything that is missing
};

struct RenderOptions {
  const Rules& rules;
  std::vector<Language> languages = {Language::kEnglish};  // in order; JSON always carries both
  bool colour = false;                                     // never in a file or a pipe
  bool ascii = false;  // no box characters or signs beyond ASCII in what the renderer itself draws
  int columns = 100;
  Detail detail = Detail::kFirstScreen;
  std::string inputs = {};         // JSON of what folders without a plan were taken for; "": all had plans
  ReportCompanion companion = {};  // what stands beside the report
};

struct Renderer {
  absl::string_view name;
  void (*render)(const v1::Report& report, const RenderOptions& options, std::ostream& out);
  bool draws = false;  // wants the pictures: they are not made for formats that do not
};

absl::Span<const Renderer* const> AllRenderers();
const Renderer* FindRenderer(absl::string_view name);  // nullptr: not in this build

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_RENDERER_H_
