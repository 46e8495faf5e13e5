// cluster.consistency over many nodes, as a ratio to reading their rows once in the same run. One node in a thousand
// has another value of one variable and one package: the findings must name it.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "checks/runner.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr double kRatioAim = 3;
constexpr int kOddEvery = 1000;

double SecondsOf(absl::FunctionRef<void()> work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Resident now, in MiB.
double ResidentMib() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  long resident = 0;
  file >> pages >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

double PeakMib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void Add(v1::SettingsDocument& document, const std::string& key, const std::string& value, int line) {
  v1::Setting& setting = *document.add_settings();
  setting.set_raw_key(key);
  setting.set_raw_value(value);
  setting.mutable_value()->set_text(value);
  setting.set_origin(absl::StrCat("env:", line));
}

v1::Evidence& AddDocument(v1::Bundle& bundle, const std::string& kind) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(kind);
  evidence.mutable_settings()->set_format(kind);
  evidence.mutable_settings()->set_kind(kind);
  return evidence;
}

// Half of the keys are variables of the allow-list and others, half are packages.
std::string NodeBytes(int node, int keys, const std::vector<std::string>& variables) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run("npu");
  bundle.mutable_plan()->set_node(absl::StrCat("npu-", node));
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  bundle.mutable_plan()->set_platform("atlas-a2");
  const bool odd = node % kOddEvery == kOddEvery - 1;
  v1::SettingsDocument& environment = *AddDocument(bundle, "environment").mutable_settings();
  for (int i = 0; i < keys / 2; ++i) {
    const std::string& name = variables[static_cast<std::size_t>(i)];
    Add(environment, name, odd && i == 0 ? "odd" : absl::StrCat("value of ", name), i + 1);
  }
  v1::SettingsDocument& packages = *AddDocument(bundle, "packages").mutable_settings();
  for (int i = keys / 2; i < keys; ++i) {
    Add(packages, absl::StrCat("package.library", i), odd && i == keys - 1 ? "9.9" : absl::StrCat("1.", i, ".0"),
        i + 1);
  }
  return bundle.SerializeAsString();
}

// Names of the allow-list first, then others.
std::vector<std::string> VariableNames(int count) {
  std::vector<std::string> names;
  for (const char* name : {"HCCL_DETERMINISTIC", "HCCL_ALGO", "NCCL_ALGO", "TASK_QUEUE_ENABLE", "OMP_NUM_THREADS"})
    names.emplace_back(name);
  while (static_cast<int>(names.size()) < count) names.push_back(absl::StrCat("SITE_VARIABLE_", names.size()));
  return names;
}

int Measure(int nodes, int keys) {
  const std::vector<std::string> variables = VariableNames(keys / 2);
  std::vector<std::string> stored;
  for (int node = 0; node < nodes; ++node) stored.push_back(NodeBytes(node, keys, variables));
  std::vector<v1::Bundle> bundles(stored.size());
  const double reading = SecondsOf([&] {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (!bundles[i].ParseFromString(stored[i])) std::abort();
    }
  });
  stored.clear();
  stored.shrink_to_fit();
  const EvidenceSet evidence({}, std::move(bundles));
  BuiltInRules();
  const double before = ResidentMib();
  AuditOptions options;
  options.items = {"cluster.consistency"};
  options.today = "2026-06-01";
  v1::Report report;
  const double checking =
      SecondsOf([&] { report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), options); });
  int findings = 0;
  for (const v1::CheckResult& check : report.items(0).checks()) findings += check.findings_size();
  const double ratio = checking / reading;
  std::printf("nodes %d, keys %d: read %.2f s, checked %.2f s, ratio %.2f (aim %.0f), %d findings\n", nodes, keys,
              reading, checking, ratio, kRatioAim, findings);
  std::printf("memory: evidence %.0f MiB, peak %.0f MiB\n", before, PeakMib());
  return ratio <= kRatioAim ? 0 : 1;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  const auto number = [&](int index, int fallback) {
    return index < argc ? static_cast<int>(paritect::ParseInt(argv[index]).value_or(fallback)) : fallback;
  };
  return paritect::Measure(number(1, 10000), number(2, 500));
}
