#include "rules/read_text.h"

#include "absl/strings/ascii.h"

namespace paritect {

absl::Status ReadBothLanguages(const DocumentNode& node, v1::Text& text) {
  const DocumentNode* en = node.Find("en");
  const DocumentNode* zh = node.Find("zh");
  if (en == nullptr || zh == nullptr || node.fields.size() != 2) return ErrorAt(node, "needs `en` and `zh` alone");
  text.set_en(en->text);
  text.set_zh(zh->text);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadLowerTexts(const DocumentNode& node) {
  if (!node.is_list()) return ErrorAt(node, "a list is needed");
  std::vector<std::string> texts;
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar() || item.text.empty() || item.text != absl::AsciiStrToLower(item.text)) {
      return ErrorAt(item, "a text in lower case is needed");
    }
    texts.push_back(item.text);
  }
  return texts;
}

}  // namespace paritect
