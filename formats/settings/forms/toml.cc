// TOML (torchtitan and others): tables, dotted and quoted keys, strings, numbers with '_', booleans, arrays over
// several lines; a table of an array has its number in the key ("stage.0.lr"). Inline tables stay texts. Also "key =
// value" files without a table, and with bare words. Source: toml.io, 1.0.
//
// Read line by line and not by a TOML library (tomlplusplus keeps lines and could keep a number's text): half of what
// arrives here is TOML only in looks. Bare words (`optimizer = adamw`), Python's True and None, a key set twice make a
// library refuse the file as a whole, where a reader of settings has each line that can be read. A second, lenient
// reader would be needed beside it, and the two would part.
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "toml";
constexpr std::size_t kArrayBytesMax = 1 << 20;

// The line without its comment.
absl::string_view WithoutComment(absl::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote == 0 && line[i] == '#') return line.substr(0, i);
    if (quote == '"' && line[i] == '\\') {
      ++i;
    } else if (quote == 0 && (line[i] == '"' || line[i] == '\'')) {
      quote = line[i];
    } else if (line[i] == quote) {
      quote = 0;
    }
  }
  return line;
}

// "a . 'b.c'" -> "a.b.c".
std::string KeyOf(absl::string_view text) {
  std::string out;
  for (absl::string_view part : SplitOutsideBrackets(text, '.')) {
    if (part.size() >= 2 && (part.front() == '"' || part.front() == '\'') && part.back() == part.front()) {
      part = part.substr(1, part.size() - 2);
    }
    absl::StrAppend(&out, out.empty() ? "" : ".", part);
  }
  return out;
}

// The position of the '=' that divides key and value.
std::size_t Equals(absl::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      quote = line[i] == quote ? 0 : quote;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '=') {
      return i;
    }
  }
  return absl::string_view::npos;
}

bool IsOpen(absl::string_view value) {
  return absl::StartsWith(value, "[") && ClosingBracket(value, 0) == absl::string_view::npos;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_(kName, "arguments", label) {}

  // False where the line is no TOML.
  bool Line(absl::string_view raw, std::int64_t number) {
    const absl::string_view line = absl::StripAsciiWhitespace(WithoutComment(raw));
    if (!pending_.empty()) {
      absl::StrAppend(&pending_, " ", line);
      if (!IsOpen(pending_) || pending_.size() > kArrayBytesMax) Flush();
      return true;
    }
    if (line.empty()) return true;
    if (line.front() == '[') return Table(line);
    const std::size_t equals = Equals(line);
    if (equals == absl::string_view::npos || equals == 0) return false;
    key_ = StrCat(table_, table_.empty() ? "" : ".", KeyOf(absl::StripAsciiWhitespace(line.substr(0, equals))));
    pending_ = std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
    line_ = number;
    if (!IsOpen(pending_)) Flush();
    return true;
  }

  v1::SettingsDocument Finish() {
    if (!pending_.empty()) Flush();
    return builder_.Finish();
  }

 private:
  bool Table(absl::string_view line) {
    const bool array = absl::ConsumePrefix(&line, "[[") && absl::ConsumeSuffix(&line, "]]");
    if (!array && !(absl::ConsumePrefix(&line, "[") && absl::ConsumeSuffix(&line, "]"))) return false;
    table_ = KeyOf(line);
    if (array) absl::StrAppend(&table_, ".", tables_[table_]++);
    return true;
  }

  void Flush() {
    std::string text = std::move(pending_);
    pending_.clear();
    const std::string plain = absl::StrReplaceAll(text, {{"_", ""}});
    v1::Setting* setting = builder_.Add(key_, ParseDouble(plain) ? plain : text, line_);
    if (setting != nullptr && (text == "true" || text == "false"))
      setting->mutable_value()->set_boolean(text == "true");
  }

  SettingsBuilder builder_;
  std::string table_;
  std::map<std::string, int> tables_;
  std::string key_;
  std::string pending_;
  std::int64_t line_ = 0;
};

// "lr", "optimizer.lr", "a.'b'".
bool IsKey(absl::string_view key) {
  if (key.empty()) return false;
  for (char c : key) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains("_-.\"'", c)) return false;
  }
  return !absl::ascii_isdigit(static_cast<unsigned char>(key.front()));
}

// A value as TOML spells it (or Python: True, None); a bare word is a value of no language.
bool IsSpelledValue(absl::string_view value) {
  if (value.find_first_of("\"'[{") == 0) return true;
  for (absl::string_view word : {"true", "false", "True", "False", "None"}) {
    if (value == word) return true;
  }
  return ValueOfText(value).kind_case() != v1::Value::kText ||
         absl::ascii_isdigit(static_cast<unsigned char>(value[0]));
}

// Tables and "key = value" lines and nothing else. Without a table blanks around the "=" are asked for (an environment
// has none), and where a value is a bare word another format may well know better.
int Sniff(absl::string_view head) {
  int tables = 0;
  int keys = 0;
  bool broken = false;
  bool blanks = true;
  bool spelled = true;
  int lines = 0;
  std::string open;  // an array that goes on
  ForEachLine(head, [&](absl::string_view raw, std::int64_t) {
    const absl::string_view line = absl::StripAsciiWhitespace(WithoutComment(raw));
    if (broken || ++lines > 200 || line.empty()) return;
    if (!open.empty()) {
      absl::StrAppend(&open, " ", line);
      if (!IsOpen(open) || open.size() > kSettingsHeadBytes) open.clear();
      return;
    }
    if (line.front() == '[' && line.back() == ']' && line.find_first_of(",=:") == absl::string_view::npos) {
      ++tables;
      return;
    }
    const std::size_t at = Equals(line);
    const absl::string_view value =
        at == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(at + 1));
    if (value.empty() || value.front() == '=' || !IsKey(absl::StripAsciiWhitespace(line.substr(0, at)))) {
      broken = tables == 0 || keys == 0;  // behind a table it is a TOML file with a fault
      return;
    }
    ++keys;
    blanks = blanks && line[at - 1] == ' ' && line[at + 1] == ' ';
    spelled = spelled && IsSpelledValue(value);
    if (IsOpen(value)) open = std::string(value);
  });
  if (broken || keys == 0 || (tables == 0 && !blanks)) return 0;
  if (tables > 0) return spelled ? 60 : 45;
  return spelled ? 45 : keys >= 2 ? 38 : 0;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  std::int64_t wrong = 0;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    if (!reader.Line(line, number) && wrong == 0) wrong = number;
  });
  if (wrong != 0) return absl::DataLossError(StrCat("line ", wrong, ": neither a table nor a key with a value"));
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kTomlSettings;
const SettingsFormat kTomlSettings = {kName, "arguments", &Sniff, &Parse};

}  // namespace paritect
