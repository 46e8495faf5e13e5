#include "formats/settings/shell/shell_variables.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

constexpr int kDepthMax = 8;  // ${A:-${B:-...}}
constexpr std::size_t kItemsMax = 20'000;

// "2*4+1" of whole numbers, left to right with the usual precedence; nullopt for anything else.
std::optional<std::int64_t> WholeNumber(absl::string_view text) {
  std::int64_t sum = 0;
  for (absl::string_view term : SplitOutsideBrackets(text, '+')) {
    std::int64_t product = 1;
    bool first = true;
    for (absl::string_view factor : absl::StrSplit(term, '*')) {
      const std::vector<absl::string_view> quotients = absl::StrSplit(factor, '/');
      auto value = ParseInt(quotients[0]);
      if (!value || std::abs(*value) > 1'000'000'000) return std::nullopt;
      product = first ? *value : product * *value;
      first = false;
      for (std::size_t i = 1; i < quotients.size(); ++i) {
        auto divisor = ParseInt(quotients[i]);
        if (!divisor || *divisor == 0) return std::nullopt;
        product /= *divisor;
      }
      if (std::abs(product) > 1'000'000'000'000) return std::nullopt;
    }
    sum += product;
  }
  return sum;
}

ShellText Unknown(absl::string_view written) {
  ShellText text;
  text.text = std::string(written);
  text.MarkUnknown();
  return text;
}

std::size_t NameLength(absl::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && IsShellName(text[n])) ++n;
  return n;
}

bool IsEmpty(const std::vector<ShellText>& items) {
  return items.empty() || (items.size() == 1 && items[0].text.empty());
}

}  // namespace

bool IsShellName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::size_t ClosingBrace(absl::string_view text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{') {
      ++depth;
      ++i;
    } else if (text[i] == '}' && --depth == 0) {
      return i;
    }
  }
  return absl::string_view::npos;
}

std::int64_t ShellText::LineAt(std::size_t offset) const {
  std::int64_t at = line;
  for (const auto& [begin, number] : lines) {
    if (begin > offset) break;
    at = number;
  }
  return at;
}

void ShellText::Append(const ShellText& part) {
  if (text.size() + part.text.size() > kShellWordBytesMax) return;
  const std::size_t offset = text.size();
  if (offset == 0 && part.line > 0) {
    line = part.line;
    lines.clear();
  } else if (part.line > 0 && part.line != LineAt(offset)) {
    lines.emplace_back(offset, part.line);
  }
  for (const auto& [begin, number] : part.lines) lines.emplace_back(offset + begin, number);
  for (const auto& [begin, end] : part.unknown) unknown.emplace_back(offset + begin, offset + end);
  for (const auto& [begin, end] : part.fallback) fallback.emplace_back(offset + begin, offset + end);
  text += part.text;
}

ShellText ShellText::Part(std::size_t begin, std::size_t end) const {
  ShellText part;
  part.text = text.substr(begin, end - begin);
  part.line = LineAt(begin);
  for (const auto& [at, number] : lines) {
    if (at > begin && at < end) part.lines.emplace_back(at - begin, number);
  }
  // A mark without length (an empty default) counts where it stands.
  const auto cut = [&](const std::vector<std::pair<std::size_t, std::size_t>>& from,
                       std::vector<std::pair<std::size_t, std::size_t>>& to) {
    for (const auto& [first, last] : from) {
      if (first < end && (last > begin || (last == first && last >= begin)))
        to.emplace_back(std::max(first, begin) - begin, std::min(last, end) - begin);
    }
  };
  cut(unknown, part.unknown);
  cut(fallback, part.fallback);
  return part;
}

const ShellVariables::Variable* ShellVariables::Known(absl::string_view name) const {
  auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

const ShellText* ShellVariables::Find(const std::string& name) const {
  const Variable* variable = Known(name);
  return variable == nullptr || variable->items.empty() ? nullptr : &variable->items[0];
}

ShellVariables::Expansion ShellVariables::Expand(absl::string_view inside, absl::string_view written) const {
  return ExpandAt(inside, written, 0);
}

// NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
ShellVariables::Expansion ShellVariables::ExpandAt(absl::string_view inside, absl::string_view written,
                                                   int depth) const {
  const std::size_t length = NameLength(inside);
  const Variable* variable = Known(inside.substr(0, length));
  absl::string_view operation = inside.substr(length);
  const bool all = absl::ConsumePrefix(&operation, "[@]") || absl::ConsumePrefix(&operation, "[*]");
  if (length == 0 || depth > kDepthMax) return {{Unknown(written)}, false};
  const bool colon = absl::ConsumePrefix(&operation, ":");
  const char sign = operation.empty() ? '\0' : operation[0];
  const bool set = variable != nullptr && !(colon && IsEmpty(variable->items));
  if (sign == '-' || sign == '=') {
    if (set) return {variable->items, all};
    ShellText fallback = Fallback(operation.substr(1), depth + 1);
    if (variable == nullptr) fallback.MarkFallback();
    return {{std::move(fallback)}, false};
  }
  if (sign == '+') return {{set ? Fallback(operation.substr(1), depth + 1) : ShellText()}, false};
  if (variable == nullptr || (sign != '\0' && sign != '?')) return {{Unknown(written)}, false};
  if (all || !variable->array) return {variable->items, all};
  return {{variable->items.empty() ? ShellText() : variable->items[0]}, false};
}

// The text of a default, with the variables in it.
// NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
ShellText ShellVariables::Fallback(absl::string_view text, int depth) const {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  ShellText out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    absl::string_view inside;
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{') {
      const std::size_t close = ClosingBrace(text, i);
      end = close == absl::string_view::npos ? text.size() : close + 1;
      inside = text.substr(i + 2, end - i - (close == absl::string_view::npos ? 2 : 3));
    } else if (text[i] == '$') {
      end += NameLength(text.substr(i + 1));
      inside = text.substr(i + 1, end - i - 1);
    }
    if (inside.empty()) {
      if (text[i] == '$' || text[i] == '`') out.unknown.emplace_back(out.text.size(), out.text.size() + end - i);
      out.text.append(text.data() + i, end - i);
    } else {
      for (const ShellText& item : ExpandAt(inside, text.substr(i, end - i), depth + 1).items) out.Append(item);
    }
    i = end;
  }
  return out;
}

ShellText ShellVariables::Arithmetic(absl::string_view inside) const {
  ShellText out;
  bool fallback = false;
  std::string resolved;
  for (std::size_t i = 0; i < inside.size();) {
    if (absl::StrContains("${} \t", inside[i])) {  // names stand with or without '$'
      ++i;
      continue;
    }
    const std::size_t length = NameLength(inside.substr(i));
    const Variable* variable = length == 0 ? nullptr : Known(inside.substr(i, length));
    if (variable != nullptr && !variable->items.empty()) {
      resolved += variable->items[0].text;
      fallback = fallback || !variable->items[0].fallback.empty();
    } else {
      resolved.append(inside.data() + i, std::max<std::size_t>(length, 1));
    }
    i += std::max<std::size_t>(length, 1);
  }
  const auto value = WholeNumber(resolved);
  out.text = value ? absl::StrCat(*value) : absl::StrCat("$((", inside, "))");
  if (!value) out.MarkUnknown();
  if (fallback) out.MarkFallback();
  return out;
}

void ShellVariables::Assign(const std::string& name, Assignment assignment) {
  auto known = variables_.find(name);
  Variable variable{std::move(assignment.items), assignment.array};
  if (variable.items.size() > kItemsMax) variable.items.resize(kItemsMax);
  if (assignment.append && known != variables_.end()) {
    std::vector<ShellText> items = known->second.items;
    if (assignment.array || items.empty()) {
      for (ShellText& item : variable.items) items.push_back(std::move(item));
    } else if (!variable.items.empty()) {
      items[0].Append(variable.items[0]);
    }
    variable = {std::move(items), known->second.array || assignment.array};
    // Appended in a branch: it may be there or not.
    for (ShellText& item : variable.items) {
      if (assignment.conditional) item.MarkFallback();
    }
  } else if (assignment.conditional) {
    const bool same = known != variables_.end() && known->second.items.size() == variable.items.size() &&
                      std::equal(variable.items.begin(), variable.items.end(), known->second.items.begin(),
                                 [](const ShellText& a, const ShellText& b) { return a.text == b.text; });
    if (known == variables_.end()) {
      for (ShellText& item : variable.items) item.MarkFallback();
    } else if (!same) {
      return SetUnknown(name);
    }
  }
  variables_[name] = std::move(variable);
}

void ShellVariables::SetUnknown(const std::string& name) {
  variables_[name] = {{Unknown(absl::StrCat("$", name))}, false};
}

}  // namespace paritect
