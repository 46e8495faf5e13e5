// Small scripts with one fault each, and their healthy twins: what is found is what their headline says, no more and no
// less. The samples stand in tests/scripts/faults/, one file a concern:
//   === name: check kind, check kind    (or: nothing)
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "checks/scripts/faults.h"
#include "formats/python/script_reader.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

struct FaultSample {
  std::string name;
  std::vector<std::string> expected;  // "check kind", sorted
  std::string code;
};

std::vector<FaultSample> SamplesOf(const std::string& file) {
  std::vector<FaultSample> samples;
  const std::string text = ReadSample(absl::StrCat("faults/", file));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "=== ")) {
      if (!samples.empty()) absl::StrAppend(&samples.back().code, line, "\n");
      continue;
    }
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    FaultSample sample{parts[0], {}, ""};
    if (parts.size() > 1 && parts[1] != "nothing") sample.expected = absl::StrSplit(parts[1], ", ");
    std::sort(sample.expected.begin(), sample.expected.end());
    samples.push_back(std::move(sample));
  }
  return samples;
}

// Errors and warnings; notes are no alarm.
std::vector<std::string> FoundIn(const std::string& code) {
  const v1::ScriptTree tree = ReadScripts({{"train.py", code}}, {}, BuiltInRules().scripts);
  std::set<std::string> found;
  for (const ScriptFault& fault : FindScriptFaults(ScriptFlow::OfEntry(tree, "train.py"))) {
    if (fault.severity == v1::SEVERITY_NOTE) continue;
    const absl::string_view kind = fault.message.substr(0, fault.message.find('/'));
    found.insert(absl::StrCat(fault.severity == v1::SEVERITY_WARNING ? "warning " : "", fault.check, " ", kind));
  }
  return {found.begin(), found.end()};
}

class ScriptFaults : public testing::TestWithParam<const char*> {};

TEST_P(ScriptFaults, AreNamedAndNoMore) {
  const std::vector<FaultSample> samples = SamplesOf(GetParam());
  EXPECT_GE(samples.size(), 8U);
  for (const FaultSample& sample : samples) {
    EXPECT_EQ(FoundIn(sample.code), sample.expected) << GetParam() << ": " << sample.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScriptFaults,
                         testing::Values("updates.txt", "modes.txt", "orders.txt", "parallel.txt", "precision.txt"),
                         [](const auto& one) { return std::string(one.param, std::string(one.param).find('.')); });

}  // namespace
}  // namespace paritect
