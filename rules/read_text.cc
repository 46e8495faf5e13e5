#include "rules/read_text.h"

namespace paritect {

absl::Status ReadBothLanguages(const DocumentNode& node, v1::Text& text) {
  const DocumentNode* en = node.Find("en");
  const DocumentNode* zh = node.Find("zh");
  if (en == nullptr || zh == nullptr || node.fields.size() != 2) return ErrorAt(node, "needs `en` and `zh` alone");
  text.set_en(en->text);
  text.set_zh(zh->text);
  return absl::OkStatus();
}

}  // namespace paritect
