// Documents (YAML, JSON): every configuration file comes through here.
#include "common/document.h"
#include "common/utf8.h"
#include "re2/re2.h"
#include "tests/fuzz/fuzz.h"

namespace paritect {
namespace {

void CheckStatus(const absl::Status& status) {
  static const re2::RE2 kPlace("^[0-9]+:[0-9]+: ");
  if (status.ok()) return;
  FuzzCheck(re2::RE2::PartialMatch(std::string(status.message()), kPlace), "an error says LINE:COLUMN");
  FuzzCheck(IsValidUtf8(status.message()), "an error is UTF-8");
}

// Texts are UTF-8, places are 1-based; no recursion, the depth is the input's.
void CheckTree(const DocumentNode& root) {
  std::vector<const DocumentNode*> open = {&root};
  while (!open.empty()) {
    const DocumentNode& node = *open.back();
    open.pop_back();
    FuzzCheck(IsValidUtf8(node.text), "a scalar is UTF-8");
    for (const DocumentNode& item : node.items) open.push_back(&item);
    for (const auto& [key, value] : node.fields) {
      open.push_back(&key);
      open.push_back(&value);
    }
  }
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view text = FuzzInput(data, size);
  for (const auto& parse : {&ParseDocument, &ParseJson, &ParseYaml}) {
    const auto root = parse(text, DocumentLimits{});
    CheckStatus(root.status());
    if (root.ok()) CheckTree(*root);
  }
  return 0;
}
