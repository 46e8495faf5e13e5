// A server's audit of many nodes that hold one data set: how much longer does it take, and how much more memory does it
// need, than one of two such nodes? `nodes_bench [NODES] [FILES]`, 1,000 x 100,000 by default; the store is a file.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/digest.h"
#include "common/numbers.h"
#include "server/audits/audits.h"
#include "server/bundle_reader.h"
#include "server/recorded_runs.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

constexpr double kMillisecondsOfNodeAim = 10;  // at 100,000 files, in proportion for others
constexpr double kKibOfNodeAim = 64;
constexpr std::int64_t kNowMs = std::int64_t{1'800'000'000} * 1000;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(2);
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double PeakMib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

v1::Bundle OneNode(int files) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("/data/train");
  evidence.set_subject("train");
  v1::FileList& list = *evidence.mutable_files();
  list.set_dataset("train");
  list.set_format("tree");
  list.set_root("/data/train");
  for (int i = 0; i < files; ++i) {
    v1::FileEntry& file = *list.add_files();
    file.set_path(absl::StrFormat("part-%04d/image_%08d.jpg", i / 1000, i));
    file.set_type(v1::FILE_TYPE_REGULAR);
    file.set_size_bytes(static_cast<std::uint64_t>(1000 + i % 777));
    file.set_md5(Md5(absl::StrCat(i)));
  }
  return bundle;
}

// Half of the nodes a side; all name the contents of one.
void Store(FleetStore& store, const std::string& audit, int nodes, const v1::StoredBundle& one) {
  for (int node = 0; node < nodes; ++node) {
    v1::StoredBundle stored = one;
    v1::PlanInfo& plan = *stored.mutable_plan();
    plan.set_run(absl::StrCat(audit, node < nodes / 2 ? "-gpu" : "-npu"));
    plan.set_node(absl::StrFormat("node-%05d", node));
    plan.mutable_identity()->set_key(Sha256(plan.node()));
    stored.set_collected_at_unix_ms(kNowMs + node);
    stored.set_origin(v1::BUNDLE_ORIGIN_IMPORT);
    WriteSet set;
    AddBundleDocument(stored, set);
    const WriteSet* const sets[] = {&set};
    Check(store.Commit(sets));
  }
}

AuditPorts PortsOf(FleetStore& store) {
  AuditPorts ports;
  ports.nodes = [] { return std::vector<KnownNode>(); };
  ports.commit = [&store](const WriteSet& set) {
    const WriteSet* const sets[] = {&set};
    return store.Commit(sets);
  };
  ports.load_bundle = [&store](const v1::StoredBundle& stored, MessageBudget& budget, ListsInCommon* lists) {
    return lists == nullptr ? LoadBundle(store, stored, budget) : LoadBundle(store, stored, budget, *lists);
  };
  ports.random_bytes = [](std::size_t n) { return std::string(n, 'k'); };
  return ports;
}

struct Cost {
  double seconds = 0;
  double peak_mib = 0;
};

Cost Judge(Audits& audits, const std::string& name) {
  Check(audits
            .Create(absl::StrFormat(
                        R"({"audit": "%s", "baseline": {"runs": ["%s-gpu"]}, "migrated": {"runs": ["%s-npu"]}})", name,
                        name, name),
                    "audit.json", false, "operator/o")
            .status());
  const double before = CpuSeconds();
  Check(audits.Start(name, "operator/o", 0).status());
  std::uint64_t revision = 0;
  for (;;) {
    const auto run = audits.WaitForChange(name, 0, revision, 200);
    Check(run.status());
    if (run->state() == v1::AUDIT_RUN_STATE_DONE) return {CpuSeconds() - before, PeakMib()};
    if (run->state() == v1::AUDIT_RUN_STATE_FAILED) Check(absl::InternalError(run->problem()));
  }
}

int Measure(int nodes, int files) {
  std::string folder = "/tmp/nodes_bench.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 2;
  const std::string file = absl::StrCat(folder, "/store.db");
  int code = 0;
  {
    const auto store = OpenFleetStore(absl::StrCat("sqlite:", file));
    Check(store.status());
    {
      v1::Bundle bundle = OneNode(files);
      WriteSet set;
      const auto one = StoreBundle(bundle, set);
      Check(one.status());
      const WriteSet* const sets[] = {&set};
      Check((*store)->Commit(sets));
      Store(**store, "two", 2, *one);
      Store(**store, "many", nodes, *one);
    }
    Audits audits(
        **store, BuiltInRules(), [] { return kNowMs; }, {}, PortsOf(**store));
    Check(audits.Load());
    const Cost two = Judge(audits, "two");
    const Cost many = Judge(audits, "many");
    const double ms = 1000 * (many.seconds - two.seconds) / (nodes - 2);
    const double kib = 1024 * (many.peak_mib - two.peak_mib) / (nodes - 2);
    const double aim = kMillisecondsOfNodeAim * files / 100'000;
    std::printf("2 nodes x %d files: %.2f s of CPU, peak %.0f MiB\n", files, two.seconds, two.peak_mib);
    std::printf("%d nodes x %d files: %.2f s of CPU, peak %.0f MiB\n", nodes, files, many.seconds, many.peak_mib);
    std::printf("a node more: %.2f ms of CPU (aim %.2f), %.1f KiB (aim %.0f)\n", ms, aim, kib, kKibOfNodeAim);
    code = ms <= aim && kib <= kKibOfNodeAim ? 0 : 1;
  }
  for (const char* ending : {"", "-wal", "-shm"}) unlink(absl::StrCat(file, ending).c_str());
  rmdir(folder.c_str());
  return code;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  const auto number = [&](int index, int fallback) {
    return index < argc ? static_cast<int>(paritect::ParseInt(argv[index]).value_or(fallback)) : fallback;
  };
  return paritect::Measure(number(1, 1000), number(2, 100'000));
}
