// `-o` as people write it: a format, a format and a file, or a file whose ending tells the format.
#ifndef PARITECT_CLIENT_REPORT_OUTPUT_WORDS_H_
#define PARITECT_CLIENT_REPORT_OUTPUT_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

struct OutputWords {
  std::string format;  // a renderer's name, or what was written where no such format is known
  std::string file;    // "": standard output
  bool has_file = false;
};

// "markdown", "md=FILE", "report.md", "out/report.html". A format wins over a file of its name.
OutputWords ReadOutputWords(absl::string_view option);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_OUTPUT_WORDS_H_
