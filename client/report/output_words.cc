#include "client/report/output_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "client/report/renderer.h"
#include "common/file_system.h"

namespace paritect {
namespace {

// Endings, and words that people use for a format: the renderer's name.
constexpr std::pair<absl::string_view, absl::string_view> kWords[] = {
    {"md", "markdown"}, {"txt", "table"}, {"text", "table"}, {"xml", "junit"}, {"htm", "html"}, {"ndjson", "jsonl"}};

// "" where no ending of this name is known.
std::string FormatOf(absl::string_view word) {
  const std::string lower = absl::AsciiStrToLower(word);
  if (FindRenderer(lower) != nullptr) return lower;
  for (const auto& [known, format] : kWords) {
    if (lower == known) return std::string(format);
  }
  return "";
}

}  // namespace

OutputWords ReadOutputWords(absl::string_view option) {
  OutputWords words;
  const std::size_t equals = option.find('=');
  const std::string named = FormatOf(option.substr(0, equals));
  if (!named.empty() || equals != absl::string_view::npos) {
    words.format = named.empty() ? std::string(option.substr(0, equals)) : named;
    words.has_file = equals != absl::string_view::npos;
    if (words.has_file) words.file = std::string(option.substr(equals + 1));
    return words;
  }
  const absl::string_view name = BaseName(option);
  const std::size_t dot = name.rfind('.');
  const std::string by_ending = dot == absl::string_view::npos ? "" : FormatOf(name.substr(dot + 1));
  words.has_file = !by_ending.empty();
  words.format = words.has_file ? by_ending : std::string(option);
  if (words.has_file) words.file = std::string(option);
  return words;
}

}  // namespace paritect
