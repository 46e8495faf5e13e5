#include "formats/settings/builder.h"

#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr int kSettingsMax = 200'000;
constexpr int kListDepthMax = 8;
constexpr int kListItemsMax = 10'000;

using absl::StrCat;

bool IsOpening(char c) {
  return c == '(' || c == '[' || c == '{';
}
bool IsClosing(char c) {
  return c == ')' || c == ']' || c == '}';
}

// Walks text outside quotes; `visit(position, depth)` returns false to stop.
template <typename Visit>
void WalkOutsideQuotes(absl::string_view text, std::size_t from, Visit visit) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
      continue;
    }
    if (c == '\'' || c == '"') {
      // An apostrophe inside a word ("don't") is no quote.
      if (c == '"' || i == 0 || !absl::ascii_isalnum(static_cast<unsigned char>(text[i - 1]))) quote = c;
      continue;
    }
    if (IsClosing(c)) --depth;
    if (!visit(i, depth)) return;
    if (IsOpening(c)) ++depth;
  }
}

std::string Unquote(absl::string_view text) {
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    out.push_back(text[i]);
  }
  return out;
}

// Integers as Python, YAML and TOML write them: 0x2A, 0o17, 0b11, 100_000.
std::optional<std::int64_t> SpelledInteger(absl::string_view text) {
  if (auto plain = ParseInt(text)) return plain;
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  int base = 10;
  for (const auto& [sign, of] : {std::pair<char, int>{'x', 16}, {'o', 8}, {'b', 2}}) {
    if (text.size() > 2 && text[0] == '0' && absl::ascii_tolower(static_cast<unsigned char>(text[1])) == sign)
      base = of;
  }
  if (base != 10) text.remove_prefix(2);
  if (text.empty() || text.size() > 80 || text.front() == '_' || text.back() == '_' || absl::StrContains(text, "__"))
    return std::nullopt;
  std::int64_t value = 0;
  for (char c : text) {
    if (c == '_') continue;
    const unsigned char lower = static_cast<unsigned char>(absl::ascii_tolower(static_cast<unsigned char>(c)));
    const int digit = absl::ascii_isdigit(lower) ? lower - '0' : absl::ascii_isxdigit(lower) ? lower - 'a' + 10 : 99;
    if (digit >= base || value > (std::numeric_limits<std::int64_t>::max() - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return negative ? -value : value;
}

// "010" is eight in YAML 1.1 (PyYAML), "08" a text.
std::optional<std::int64_t> YamlOctal(absl::string_view text) {
  const bool octal = text.size() > 1 && text.size() < 20 && text[0] == '0' &&
                     text.find_first_not_of("01234567_") == absl::string_view::npos;
  return octal ? SpelledInteger(absl::StrCat("0o", text.substr(1))) : std::nullopt;
}

v1::Value ValueAtDepth(absl::string_view text, int depth);

bool ReadList(absl::string_view text, int depth, v1::Value& value) {
  const bool list =
      text.size() >= 2 && ((text.front() == '[' && text.back() == ']') || (text.front() == '(' && text.back() == ')'));
  if (!list || depth >= kListDepthMax || ClosingBracket(text, 0) != text.size() - 1) return false;
  auto* items = value.mutable_list();
  for (absl::string_view part : SplitOutsideBrackets(text.substr(1, text.size() - 2), ',')) {
    if (part.empty()) continue;
    if (items->items_size() >= kListItemsMax) break;
    *items->add_items() = ValueAtDepth(part, depth + 1);
  }
  return true;
}

v1::Value ValueAtDepth(absl::string_view text, int depth) {
  v1::Value value;
  text = absl::StripAsciiWhitespace(text);
  if (text == "None" || text == "null" || text == "~") {
    value.set_null(true);
  } else if (text == "True" || text == "true") {
    value.set_boolean(true);
  } else if (text == "False" || text == "false") {
    value.set_boolean(false);
  } else if (auto integer = SpelledInteger(text)) {
    value.set_integer(*integer);
  } else if (auto number = ParseDouble(text)) {
    value.set_number(*number);
  } else if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
    value.set_text(Unquote(text));
  } else if (!ReadList(text, depth, value)) {
    value.set_text(std::string(text));
  }
  return value;
}

v1::Value ValueOfNode(const DocumentNode& node) {
  v1::Value value;
  if (node.is_null()) {
    value.set_null(true);
  } else if (node.quoted) {
    value.set_text(node.text);
  } else if (const auto octal = YamlOctal(node.text)) {
    value.set_integer(*octal);
  } else {
    value = ValueOfText(node.text);
  }
  return value;
}

// wandb's config.yaml has each value as {desc: ..., value: ...}.
const DocumentNode* TrackedValue(const DocumentNode& node) {
  const bool tracked = node.is_map() && node.fields.size() == 2 && node.Find("desc") != nullptr;
  return tracked ? node.Find("value") : nullptr;
}

bool AllSingle(const DocumentNode& list) {
  for (const DocumentNode& item : list.items) {
    if (item.is_map() || item.is_list()) return false;
  }
  return true;
}

}  // namespace

v1::Value ValueOfText(absl::string_view text) {
  return ValueAtDepth(text, 0);
}

std::vector<absl::string_view> SplitOutsideBrackets(absl::string_view text, char separator) {
  std::vector<absl::string_view> parts;
  std::size_t start = 0;
  WalkOutsideQuotes(text, 0, [&](std::size_t i, int depth) {
    if (depth == 0 && text[i] == separator) {
      parts.push_back(absl::StripAsciiWhitespace(text.substr(start, i - start)));
      start = i + 1;
    }
    return true;
  });
  absl::string_view last = absl::StripAsciiWhitespace(text.substr(start));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

std::size_t ClosingBracket(absl::string_view text, std::size_t open) {
  std::size_t found = absl::string_view::npos;
  WalkOutsideQuotes(text, open, [&](std::size_t i, int depth) {
    if (depth == 0 && IsClosing(text[i])) {
      found = i;
      return false;
    }
    return true;
  });
  return found;
}

SettingsBuilder::SettingsBuilder(absl::string_view format, absl::string_view kind, absl::string_view label)
    : label_(label) {
  document_.set_format(std::string(format));
  document_.set_kind(std::string(kind));
}

v1::Setting* SettingsBuilder::Add(absl::string_view raw_key, absl::string_view raw_value, std::int64_t line) {
  v1::Setting* setting = AddText(raw_key, raw_value, line);
  if (setting != nullptr) *setting->mutable_value() = ValueOfText(raw_value);
  return setting;
}

v1::Setting* SettingsBuilder::AddText(absl::string_view raw_key, absl::string_view text, std::int64_t line) {
  if (document_.settings_size() >= kSettingsMax) {
    if (!full_) AddNote("too_many_settings", line, StrCat("only the first ", kSettingsMax, " are kept"));
    full_ = true;
    return nullptr;
  }
  v1::Setting* setting = document_.add_settings();
  setting->set_raw_key(std::string(raw_key));
  setting->set_raw_value(std::string(text));
  setting->mutable_value()->set_text(std::string(text));
  setting->set_origin(StrCat(label_, ":", line));
  return setting;
}

void SettingsBuilder::AddTree(absl::string_view prefix, const DocumentNode& root, std::int64_t line_offset) {
  // An explicit stack: nesting is the input's business.
  std::vector<std::pair<std::string, const DocumentNode*>> stack = {{std::string(prefix), &root}};
  while (!stack.empty()) {
    const auto [key, node] = std::move(stack.back());
    stack.pop_back();
    const std::string dot = key.empty() ? "" : StrCat(key, ".");
    if (const DocumentNode* value = TrackedValue(*node)) {
      stack.emplace_back(key, value);
      continue;
    }
    if (node->is_map() && node->fields.empty() && !key.empty()) {
      AddText(key, "{}", node->line + line_offset);
      continue;
    }
    if (node->is_map()) {
      for (auto field = node->fields.rbegin(); field != node->fields.rend(); ++field) {
        stack.emplace_back(StrCat(dot, field->first.text), &field->second);
      }
      continue;
    }
    if (node->is_list() && !AllSingle(*node)) {
      for (std::size_t i = node->items.size(); i-- > 0;) stack.emplace_back(StrCat(dot, i), &node->items[i]);
      continue;
    }
    v1::Setting* setting = AddText(key, node->text, node->line + line_offset);
    if (setting == nullptr) return;
    if (!node->is_list()) {
      *setting->mutable_value() = ValueOfNode(*node);
      continue;
    }
    setting->mutable_value()->mutable_list();
    for (const DocumentNode& item : node->items) {
      if (setting->value().list().items_size() >= kListItemsMax) break;
      *setting->mutable_value()->mutable_list()->add_items() = ValueOfNode(item);
      absl::StrAppend(setting->mutable_raw_value(), setting->raw_value().empty() ? "" : ", ", item.text);
    }
  }
}

void SettingsBuilder::AddNote(absl::string_view kind, std::int64_t line, absl::string_view message) {
  v1::Note& note = *document_.add_notes();
  note.set_kind(std::string(kind));
  note.set_line(line);
  note.set_message(std::string(message));
}

int CountKeys(absl::string_view head, std::initializer_list<absl::string_view> any) {
  int count = 0;
  for (absl::string_view key : any) {
    for (std::size_t at = head.find(key); at != absl::string_view::npos; at = head.find(key, at + 1)) {
      const bool starts =
          at == 0 || !(absl::ascii_isalnum(static_cast<unsigned char>(head[at - 1])) || head[at - 1] == '_');
      std::size_t end = at + key.size();
      if (end < head.size() && (head[end] == '"' || head[end] == '\'')) ++end;
      while (end < head.size() && head[end] == ' ') ++end;
      if (starts && end < head.size() && head[end] == ':') {
        ++count;
        break;
      }
    }
  }
  return count;
}

bool IsIdentifier(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

}  // namespace paritect
