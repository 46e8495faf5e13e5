// Lines that a command writes beside its answer (mistakes, warnings, what goes on), said in Chinese on their way out:
// they come from every command and library, so they are turned in one place.
#ifndef PARITECT_CLIENT_LOCALISED_LINES_H_
#define PARITECT_CLIENT_LOCALISED_LINES_H_

#include <ostream>
#include <streambuf>
#include <string>

#include "absl/strings/string_view.h"
#include "report/language.h"

namespace paritect {

// One line: as a whole, else what stands behind who says it ("paritect run: warning: ") and behind a place in a file.
std::string LocalisedLine(Language language, absl::string_view line);

// While it lives, whole lines of the stream are localised. What is flushed before its line ends (a progress bar) stays
// as it is: who draws it says it in the language.
class LocalisedLines : public std::streambuf {
 public:
  LocalisedLines(Language language, std::ostream& stream);
  ~LocalisedLines() override;

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  void Put(absl::string_view text);

  const Language language_;
  std::ostream& stream_;
  std::streambuf* const target_;
  const std::ios::fmtflags flags_;
  std::string line_;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_LOCALISED_LINES_H_
