// data.sharding.order-hazard: would the nodes split the data differently? Seen before training from how each
// node enumerates the folder, from the sample-index caches that each node holds, and from the locale.
// Source: pre-tuning checklist, 多节点分片方式与基准一致 (不同节点对文件名排序不同).
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "checks/check.h"
#include "checks/scripts/faults.h"
#include "checks/shards/findings.h"
#include "common/digest.h"
#include "common/glob.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kNodesShown = 8;

// File names of sample-index caches: Megatron-LM (GPTDataset index builder), Megatron-DeepSpeed and
// DeepSpeed data analyser, Hugging Face datasets (shuffle indices).
constexpr absl::string_view kIndexCaches[] = {"*_index.npy", "*_idx.npy",       "*_indexmap_*",
                                              "*-index.npy", "indices-*.arrow", "*_sample_index*.npy"};

bool IsIndexCache(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  const absl::string_view name = slash == absl::string_view::npos ? path : path.substr(slash + 1);
  return std::any_of(std::begin(kIndexCaches), std::end(kIndexCaches),
                     [name](absl::string_view pattern) { return GlobMatch(pattern, name); });
}

// "npu0: X; npu1: Y", one entry a value, nodes of one value together.
std::string NodesByValue(const std::map<std::string, std::set<std::string>>& nodes_by_value) {
  std::vector<std::string> parts;
  for (const auto& [value, nodes] : nodes_by_value) {
    std::vector<std::string> shown(nodes.begin(), nodes.end());
    if (shown.size() > kNodesShown) {
      shown.resize(kNodesShown);
      shown.push_back("...");
    }
    parts.push_back(absl::StrCat(absl::StrJoin(shown, ", "), ": ", value));
  }
  return absl::StrJoin(parts, "; ");
}

// --- listings ---------------------------------------------------------------------------------------

using Listing = std::vector<absl::string_view>;

// The names of both, in the order of the first; whether the second has them in the same order, and where not.
struct ListingDifference {
  std::string first, second;  // names at the first place where the orders part
};

std::optional<ListingDifference> CompareListings(const Listing& a, const Listing& b) {
  const std::set<absl::string_view> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  std::size_t i = 0, j = 0;
  for (;;) {
    while (i < a.size() && !in_b.contains(a[i])) ++i;
    while (j < b.size() && !in_a.contains(b[j])) ++j;
    if (i == a.size() || j == b.size()) return std::nullopt;
    if (a[i] != b[j]) return ListingDifference{DisplayBytes(a[i]), DisplayBytes(b[j])};
    ++i;
    ++j;
  }
}

// Read from the folder itself, not stated as the order that the training follows: two local copies on ext4 always
// differ, which harms only a loader that does not sort.
bool IsLive(const v1::DirectoryListing& listing) {
  return std::any_of(listing.notes().begin(), listing.notes().end(),
                     [](const v1::Note& note) { return note.kind() == "live"; });
}

// A data set's own listing holds relative names; the recorder's holds one folder each, whose parents may differ by
// node.
std::string FolderOf(const v1::DirectoryListing& listing) {
  if (listing.names_size() == 0 || !absl::StartsWith(listing.names(0), "/")) return listing.dataset();
  const std::vector<absl::string_view> steps = absl::StrSplit(listing.names(0), '/');
  return absl::StrCat(listing.dataset(), listing.dataset().empty() ? "" : ": ", DisplayBytes(steps[steps.size() - 2]));
}

Listing BaseNames(const google::protobuf::RepeatedPtrField<std::string>& names) {
  Listing out(names.begin(), names.end());
  for (absl::string_view& name : out) {
    if (absl::StartsWith(name, "/")) name.remove_prefix(name.rfind('/') + 1);
  }
  return out;
}

// Whether recorded lists of the run show that the order of the folder does no harm: several nodes, whole,
// nothing read twice.
bool ListsAgree(const std::vector<ShardPair>& pairs, Side side, const std::string& run_name) {
  bool shown = false;
  for (const ShardPair& pair : pairs) {
    for (const ShardRun* run : pair.Runs()) {
      if (run->side != side || run->run != run_name) continue;
      if (!run->whole()) return false;
      for (const ShardEpoch& epoch : run->epochs) {
        std::set<std::string> nodes;
        for (const ShardReader& reader : epoch.readers) nodes.insert(reader.node);
        if (!FindSharedItems(pair, epoch, PaddingOf(pair, *run, epoch)).items.empty()) return false;
        shown = shown || nodes.size() > 1;
      }
    }
  }
  return shown;
}

class SideCheck {
 public:
  SideCheck(const CheckContext& context, v1::CheckResult& result, Side side, const std::vector<ShardPair>& pairs)
      : context_(context), result_(result), side_(side), pairs_(pairs) {}

  void Run() {
    AddScriptFaults(context_, result_, "data.sharding.order-hazard", side_);
    for (const RunView& run : context_.evidence.Runs(side_)) {
      CheckScript(run);
      CheckRunListings(run);
      CheckIndexCaches(run);
      CheckLocales(run);
    }
    if (shown_) return;
    AddShardMissing(context_, result_, "order_hazard_no_evidence", SideName(side_),
                    {{"side", context_.rules.messages.Say(absl::StrCat("side_", SideName(side_)))}});
  }

 private:
  // Code that was read whole and deals no listing in the order of the folder.
  void CheckScript(const RunView& run) {
    const ScriptFlow& flow = ScriptFlow::Of(context_, run);
    if (!flow.whole()) return;
    // What is dealt out came from a listing or a data set that is known; else its order is not.
    for (const v1::ScriptFact* shard : flow.OfKind("shard")) {
      const bool known =
          flow.MadeOf(*shard, "listing") || flow.MadeOf(*shard, "list_files") || flow.MadeOf(*shard, "dataset");
      if (!known) return;
    }
    AddNote(context_, result_, "measured/script_order", run.name,
            {{"entry", flow.entry()}, {"listings", absl::StrCat(flow.OfKind("listing").size())}});
    shown_ = true;
  }

  void CheckRunListings(const RunView& run) {
    struct NodeListing {
      std::string node;
      Listing names;
      bool live;
    };
    std::map<std::string, std::vector<NodeListing>> by_dataset;
    for (const v1::Bundle* bundle : run.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        if (!evidence.has_listing()) continue;
        const auto& names = evidence.listing().names();
        const bool live = IsLive(evidence.listing());
        by_dataset[FolderOf(evidence.listing())].push_back({bundle->plan().node(), BaseNames(names), live});
      }
    }
    for (const auto& [dataset, listings] : by_dataset) {
      std::vector<std::string> odd;
      bool live = true;
      std::set<std::string> nodes;
      for (const NodeListing& one : listings) {
        live = live && one.live;
        nodes.insert(one.node);
      }
      bool meet = true;  // each has names of the first
      for (std::size_t i = 1; i < listings.size(); ++i) {
        meet = meet && ShareNames(listings[0].names, listings[i].names);
        auto difference = CompareListings(listings[0].names, listings[i].names);
        if (!difference) continue;
        odd.push_back(
            absl::StrCat(listings[0].node, ": ", difference->first, "; ", listings[i].node, ": ", difference->second));
      }
      if (!odd.empty() && !live) shown_ = true;
      if (!Covers(run, nodes, dataset) || !meet) continue;
      if (!live) shown_ = true;
      // Seen live, an order that differs leaves open whether the loader sorts.
      shown_ = shown_ || (nodes.size() > 1 && (odd.empty() || ListsAgree(pairs_, side_, run.name)));
      if (!odd.empty()) ReportListings(run.name, dataset, odd, live);
    }
  }

  // Whether every node of the run that reported gave a listing; else those that did not are named.
  bool Covers(const RunView& run, const std::set<std::string>& nodes, const std::string& dataset) {
    std::vector<std::string> without;
    for (const std::string& node : run.Reporting()) {
      if (!nodes.contains(node)) without.push_back(node);
    }
    if (without.empty()) return true;
    if (without.size() > kNodesShown) without.resize(kNodesShown);
    AddMissing(context_, result_, "order_hazard_node_without", absl::StrJoin(without, ", "),
               {{"nodes", absl::StrJoin(without, ", ")}, {"dataset", dataset}});
    return false;
  }

  static bool ShareNames(const Listing& a, const Listing& b) {
    const std::set<absl::string_view> names(a.begin(), a.end());
    return std::any_of(b.begin(), b.end(), [&](absl::string_view name) { return names.contains(name); });
  }

  void ReportListings(const std::string& run, const std::string& dataset, std::vector<std::string> odd, bool live) {
    const bool harmless = ListsAgree(pairs_, side_, run);
    const std::size_t count = odd.size();
    if (odd.size() > kNodesShown) odd.resize(kNodesShown);
    const MessageArgs args = {{"nodes", absl::StrJoin(odd, " | ")}};
    v1::Finding& finding = harmless ? AddNote(context_, result_, "node_order/harmless", dataset, args)
                           : live   ? AddWarning(context_, result_, "node_order/live", dataset, args)
                                    : AddError(context_, result_, "node_order/listing", dataset, args);
    SetFact(finding, "side", SideName(side_));
    SetFact(finding, "nodes_that_differ", static_cast<std::uint64_t>(count));
  }

  void CheckIndexCaches(const RunView& run) {
    using ByDigest = std::map<std::string, std::set<std::string>>;   // md5: nodes
    std::map<std::pair<std::string, std::string>, ByDigest> caches;  // data set, path
    std::map<const void*, std::vector<const v1::FileEntry*>> known;  // of a list, which many nodes may hold
    for (const v1::Bundle* bundle : run.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        if (!evidence.has_files()) continue;
        const auto& files = context_.evidence.FilesOf(evidence.files());
        const auto [of_list, added] = known.try_emplace(&files);
        for (const v1::FileEntry& file : files) {
          if (!added) break;
          if (!file.md5().empty() && IsIndexCache(file.path())) of_list->second.push_back(&file);
        }
        for (const v1::FileEntry* file : of_list->second) {
          caches[{evidence.files().dataset(), file->path()}][absl::StrCat("md5 ", ToHex(file->md5()))].insert(
              bundle->plan().node());
          shown_ = true;
        }
      }
    }
    for (const auto& [key, by_digest] : caches) {
      if (by_digest.size() < 2) continue;
      const std::string nodes = NodesByValue(by_digest);
      v1::Finding& finding = AddError(context_, result_, "index_cache_differs", key.second, {{"nodes", nodes}});
      SetFact(finding, "side", SideName(side_));
      SetFact(finding, "versions", static_cast<std::uint64_t>(by_digest.size()));
      finding.add_evidence(nodes);
    }
  }

  // What `sort` and `ls` go by: LC_ALL, else LC_COLLATE, else LANG.
  static std::string LocaleOf(const v1::Bundle& bundle) {
    constexpr absl::string_view kNames[] = {"LC_ALL", "LC_COLLATE", "LANG"};
    std::string values[3];
    for (const v1::Evidence& evidence : bundle.evidence()) {
      for (const v1::Setting& setting : evidence.settings().settings()) {
        for (std::size_t i = 0; i < 3; ++i) {
          if (setting.raw_key() == kNames[i]) values[i] = setting.raw_value();
        }
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (!values[i].empty()) return absl::StrCat(kNames[i], "=", values[i]);
    }
    return "";
  }

  // "C" and "POSIX" are one locale, whichever variable sets it.
  static std::string LocaleValue(const std::string& locale) {
    const std::string value = locale.substr(std::min(locale.find('='), locale.size() - 1) + 1);
    return value == "POSIX" || value == "C.UTF-8" || value == "C.utf8" ? "C" : value;
  }

  void CheckLocales(const RunView& run) {
    std::map<std::string, std::set<std::string>> nodes_by_locale;
    std::set<std::string> values;
    for (const v1::Bundle* bundle : run.nodes) {
      const std::string locale = LocaleOf(*bundle);
      if (locale.empty()) continue;
      nodes_by_locale[locale].insert(bundle->plan().node());
      values.insert(LocaleValue(locale));
    }
    if (values.size() < 2) return;
    v1::Finding& finding =
        AddWarning(context_, result_, "locale_differs", run.name, {{"nodes", NodesByValue(nodes_by_locale)}});
    SetFact(finding, "side", SideName(side_));
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const Side side_;
  const std::vector<ShardPair>& pairs_;
  bool shown_ = false;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<ShardPair>& pairs = PairShards(context);
  for (Side side : kBothSides) {
    for (v1::EvidenceKind kind : {v1::EVIDENCE_KIND_DATASET_LISTING, v1::EVIDENCE_KIND_SCRIPTS}) {
      context.evidence.ForEach(side, kind, [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
        if (evidence.outcome() != v1::OUTCOME_COLLECTED) {
          AddMissing(context, result, evidence.problem(), WhereFrom(bundle, evidence));
        }
      });
    }
    SideCheck(context, result, side, pairs).Run();
  }
}

}  // namespace

extern const Check kShardingOrderHazard;
const Check kShardingOrderHazard = {"data.sharding.order-hazard", {}, &Evaluate};

}  // namespace paritect
