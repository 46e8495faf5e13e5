#include "rules/messages.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"

namespace paritect {
namespace {

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// "{count|file|files}" is the first form where the value is 1, else the second: the one way in which a text has a
// singular.
// Where a placeholder that begins at `at` has forms to choose from, "{count|file|files}": the one for its value.
// `end`: behind it.
std::string FormOf(absl::string_view text, std::size_t bar, const std::string* value, std::size_t& end) {
  const std::size_t close = text.find('}', bar);
  end = close + 1;
  const absl::string_view forms = text.substr(bar + 1, close - bar - 1);
  const std::size_t between = forms.find('|');
  return std::string(value != nullptr && *value == "1" ? forms.substr(0, between) : forms.substr(between + 1));
}

const std::string* ValueOf(const MessageArgs& args, absl::string_view name) {
  const std::string* value = nullptr;
  for (const auto& [key, filled] : args) {
    if (key == name) value = &filled;
  }
  return value;
}

// Whether "{name|one|many}" stands there; `bar`: the place of the first '|'.
bool HasForms(absl::string_view text, std::size_t bar) {
  if (bar >= text.size() || text[bar] != '|') return false;
  const absl::string_view rest = text.substr(bar + 1, text.find('}', bar) - bar - 1);
  return text.find('}', bar) != absl::string_view::npos && rest.find('|') != absl::string_view::npos &&
         rest.find('{') == absl::string_view::npos;
}

// Behind the name of what may be a placeholder at `begin`.
std::size_t EndOfName(absl::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && IsNameByte(text[end])) ++end;
  return end;
}

bool IsPlaceholder(absl::string_view text, std::size_t begin, std::size_t end) {
  return end > begin + 1 && end < text.size() && text[end] == '}';
}

// The text of a template with its placeholders filled.
std::string Fill(absl::string_view text, const MessageArgs& args) {
  std::string out;
  std::size_t i = 0;
  while (true) {
    const std::size_t begin = std::min(text.find('{', i), text.size());
    absl::StrAppend(&out, text.substr(i, begin - i));
    if (begin == text.size()) return out;
    const std::size_t end = EndOfName(text, begin);
    const absl::string_view name = text.substr(begin + 1, end - begin - 1);
    i = end;
    if (!name.empty() && HasForms(text, end)) {
      const std::string* value = ValueOf(args, name);
      const std::string form = FormOf(text, end, value, i);
      absl::StrAppend(&out, value != nullptr ? form : text.substr(begin, i - begin));
    } else if (IsPlaceholder(text, begin, end)) {
      const std::string* value = ValueOf(args, name);
      i = end + 1;
      absl::StrAppend(&out, value != nullptr ? *value : text.substr(begin, i - begin));
    } else {
      absl::StrAppend(&out, text.substr(begin, i - begin));
    }
  }
}

// The names of a template's placeholders, each once.
std::vector<absl::string_view> NamesIn(absl::string_view text) {
  std::vector<absl::string_view> names;
  for (std::size_t begin = text.find('{'); begin != absl::string_view::npos; begin = text.find('{', begin)) {
    const std::size_t end = EndOfName(text, begin);
    if (end > begin + 1 && HasForms(text, end)) {
      begin = text.find('}', end) + 1;
      continue;
    }
    if (IsPlaceholder(text, begin, end)) names.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

absl::StatusOr<v1::Text> ReadText(const DocumentNode& node) {
  v1::Text text;
  const DocumentNode* en = node.Find("en");
  const DocumentNode* zh = node.Find("zh");
  if (en == nullptr || zh == nullptr || !en->is_scalar() || !zh->is_scalar()) {
    return ErrorAt(node, "a text needs `en` and `zh`");
  }
  text.set_en(en->text);
  text.set_zh(zh->text);
  if (NamesIn(text.en()) != NamesIn(text.zh())) return ErrorAt(node, "`en` and `zh` have other placeholders");
  return text;
}

v1::Text FillText(const v1::Text& text, const MessageArgs& args) {
  v1::Text out;
  out.set_en(Fill(text.en(), args));
  out.set_zh(Fill(text.zh(), args));
  return out;
}

absl::StatusOr<Message> ReadMessage(const DocumentNode& node) {
  Message message;
  PARITECT_ASSIGN_OR_RETURN(message.text, ReadText(node));
  if (const DocumentNode* fix = node.Find("fix")) {
    PARITECT_ASSIGN_OR_RETURN(message.fix, ReadText(*fix));
  }
  return message;
}

}  // namespace

const Message& MessageEntry::message() const {
  absl::call_once(read_, [this] {
    if (file_ == nullptr) return;
    const auto node = ReadPreparedNode(node_);
    if (!node.ok()) return;
    if (auto message = ReadMessage(*node); message.ok()) message_ = *std::move(message);
  });
  return message_;
}

absl::Status Messages::AddPrepared(std::string bytes) {
  const auto file = std::make_shared<const std::string>(std::move(bytes));
  return ForEachPreparedField(*file, [&](absl::string_view id, absl::string_view node) {
    const bool is_new = messages_.try_emplace(std::string(id), std::make_shared<MessageEntry>(file, node)).second;
    if (is_new) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("1:1: message '", id, "' is there already"));
  });
}

absl::Status Messages::Add(const DocumentNode& root, bool replace) {
  if (!root.is_map()) return ErrorAt(root, "a map of messages is needed");
  for (const auto& [key, value] : root.fields) {
    if (!value.is_map()) return ErrorAt(value, absl::StrCat("message '", key.text, "' must be a map"));
    for (const auto& field : value.fields) {
      if (field.first.text != "en" && field.first.text != "zh" && field.first.text != "fix") {
        return ErrorAt(field.first, absl::StrCat("unknown key '", field.first.text, "' in a message"));
      }
    }
    PARITECT_ASSIGN_OR_RETURN(Message message, ReadMessage(value));
    if (!replace && messages_.contains(key.text)) {
      return ErrorAt(key, absl::StrCat("message '", key.text, "' is there already"));
    }
    messages_[key.text] = std::make_shared<MessageEntry>(std::move(message));
  }
  return absl::OkStatus();
}

bool Messages::Has(absl::string_view id) const {
  return messages_.contains(id);
}

v1::Text Messages::Say(absl::string_view id, const MessageArgs& args) const {
  const auto it = messages_.find(id);
  if (it != messages_.end()) return FillText(it->second->message().text, args);
  v1::Text text;
  text.set_en(std::string(id));
  for (const auto& [key, value] : args) absl::StrAppend(text.mutable_en(), " ", key, "=", value);
  text.set_zh(text.en());
  return text;
}

v1::Text Messages::Fix(absl::string_view id, const MessageArgs& args) const {
  const auto it = messages_.find(id);
  return it == messages_.end() ? v1::Text() : FillText(it->second->message().fix, args);
}

}  // namespace paritect
