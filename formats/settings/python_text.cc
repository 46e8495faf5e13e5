#include "formats/settings/python_text.h"

namespace paritect {

std::string WithoutPythonComments(absl::string_view text) {
  std::string out(text);
  char quote = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (quote != 0) {
      if (out[i] == '\\') {
        ++i;
      } else if (out[i] == quote || out[i] == '\n') {
        quote = 0;
      }
    } else if (out[i] == '#') {
      for (; i < out.size() && out[i] != '\n'; ++i) out[i] = ' ';
    } else if (const absl::string_view three = absl::string_view(out).substr(i, 3);
               three == "\"\"\"" || three == "'''") {
      std::size_t end = out.find(std::string(three), i + 3);
      end = end == std::string::npos ? out.size() : end + 3;
      for (; i < end; ++i) out[i] = out[i] == '\n' ? '\n' : ' ';
      --i;
    } else if (out[i] == '"' || out[i] == '\'') {
      quote = out[i];
    }
  }
  return out;
}

}  // namespace paritect
