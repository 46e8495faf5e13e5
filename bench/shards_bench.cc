// data.sharding over a million files and 1,024 ranks on both sides, as a ratio to reading the names once in the same
// run. The migrated side has one file read twice, one not read, and two ranks exchanged: the findings must name them.
#include <sys/resource.h>

#include <cstdio>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "checks/runner.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr double kRatioAim = 6;

// Of the processor: other work on the machine does not count.
double SecondsOf(absl::FunctionRef<void()> work) {
  const auto seconds = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double begin = seconds();
  work();
  return seconds() - begin;
}

double PeakMib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::vector<v1::Bundle> SideOf(absl::string_view run, absl::string_view root, int files, int ranks) {
  std::vector<v1::Bundle> nodes;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % 8 == 0) {
      v1::Bundle& bundle = nodes.emplace_back();
      bundle.mutable_plan()->set_run(std::string(run));
      bundle.mutable_plan()->set_node(absl::StrCat(run, "-", rank / 8));
      bundle.mutable_plan()->set_role(v1::ROLE_RUN);
      bundle.mutable_plan()->set_world_size(ranks);
    }
    v1::Evidence& evidence = *nodes.back().add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_subject("train");
    evidence.set_rank(rank);
    v1::ShardList& list = *evidence.mutable_shards();
    list.set_rank(rank);
    list.set_format("shard-list");
    for (int i = rank; i < files; i += ranks) {
      list.add_items(absl::StrCat(root, "/class-", i / 1000, "/sample-", absl::Dec(i, absl::kZeroPad8), ".jpeg"));
    }
  }
  return nodes;
}

v1::ShardList& ListOf(std::vector<v1::Bundle>& nodes, int rank) {
  return *nodes[static_cast<std::size_t>(rank / 8)].mutable_evidence(rank % 8)->mutable_shards();
}

int Run(int files, int ranks) {
  std::vector<v1::Bundle> baseline = SideOf("gpu", "/data/imagenet/train", files, ranks);
  std::vector<v1::Bundle> migrated = SideOf("npu", "/cache/data/train", files, ranks);
  ListOf(migrated, 3).set_items(0, ListOf(migrated, 4).items(0));  // one twice, one by nobody
  ListOf(migrated, 10).mutable_items()->Swap(ListOf(migrated, 11).mutable_items());
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  const double before = PeakMib();
  std::size_t distinct = 0;
  const double reading = SecondsOf([&] {
    absl::flat_hash_set<absl::string_view> names;
    for (Side side : kBothSides) {
      for (const v1::Bundle& bundle : evidence.bundles(side)) {
        for (const v1::Evidence& one : bundle.evidence()) {
          names.insert(one.shards().items().begin(), one.shards().items().end());
        }
      }
    }
    distinct = names.size();
  });
  AuditOptions options;
  options.items = {"data.sharding"};
  options.today = "2026-06-01";
  v1::Report report;
  const double judging =
      SecondsOf([&] { report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), options); });
  std::map<std::string, int> kinds;
  for (const v1::CheckResult& check : report.items(0).checks()) {
    for (const v1::Finding& finding : check.findings()) {
      if (finding.severity() == v1::SEVERITY_ERROR) ++kinds[finding.kind()];
    }
  }
  const bool right = kinds["not_read"] == 1 && kinds["read_twice"] == 1 && kinds["assignment_differs"] == 3;
  std::printf("%d files, %d ranks, %zu names of both sides\n", files, ranks, distinct);
  std::printf("reading once %.2f s, data.sharding %.2f s: ratio %.1f (aim %.0f)\n", reading, judging, judging / reading,
              kRatioAim);
  std::printf("memory: %.0f MiB with the evidence, %.0f MiB at most\n", before, PeakMib());
  std::printf("findings %s\n", right ? "right" : "WRONG");
  return right && judging / reading <= kRatioAim ? 0 : 1;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? static_cast<int>(paritect::ParseInt(argv[i]).value_or(otherwise)) : otherwise;
  };
  return paritect::Run(number(1, 1'000'000), number(2, 1024));
}
