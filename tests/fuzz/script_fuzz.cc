// Training scripts: any bytes give a tree of facts, the same twice, with places in the file and references in the tree.
#include "formats/python/script_reader.h"
#include "rules/rules.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  if (size > 16 << 10) return 0;
  const std::string text(FuzzInput(data, size));
  const v1::ScriptTree tree = ReadScripts({{"a.py", text}}, {}, BuiltInRules().scripts);
  for (const v1::ScriptFact& fact : tree.facts()) {
    FuzzCheck(!fact.kind().empty(), "a fact has a kind");
    for (int number : fact.made_of()) FuzzCheck(number >= 0 && number < tree.facts_size(), "facts are made of facts");
    for (int number : fact.loops()) FuzzCheck(number >= 0 && number < tree.loops_size(), "loops are there");
  }
  const std::string bytes = tree.SerializeAsString();
  v1::ScriptTree again;
  FuzzCheck(again.ParseFromString(bytes), "what is written can be read: texts are UTF-8");
  return 0;
}
