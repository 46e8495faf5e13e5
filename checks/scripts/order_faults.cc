// In which order samples come: listings that are dealt out unsorted, values of the host that decide it, epochs that are
// never told to a sampler.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/fault_list.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

class OrderFaults {
 public:
  explicit OrderFaults(FaultList& list) : list_(list), flow_(list.flow()) {}

  void Run() {
    UnsortedListings();
    HostValues();
    EpochNotSet();
  }

 private:
  // --- data.sharding.order-hazard

  static bool DealsByOrder(const v1::ScriptFact& fact) {
    if (fact.kind() == "shard" || fact.kind() == "indexed") return true;
    if (fact.kind() == "slice_call") {
      return std::any_of(fact.arguments().begin(), fact.arguments().end(),
                         [](const v1::ScriptArgument& one) { return one.follows_rank(); });
    }
    if (fact.kind() != "dataset") return false;
    const v1::ScriptArgument* shards = FindScriptArgument(fact, "num_shards");
    return shards != nullptr && !shards->value().null();
  }

  // By what the names came out of order.
  static absl::string_view MessageOf(const v1::ScriptFact& cause, const v1::ScriptFact& use) {
    if (cause.kind() == "unordered") return "unsorted_listing/set";
    if (cause.kind() == "file_state") return "unsorted_listing/file_state";
    if (cause.kind() == "shuffle") return "unsorted_listing/shuffled";
    return use.kind() == "indexed" ? "unsorted_listing/indexed" : "unsorted_listing";
  }

  // A shuffle of one process's own is what a single process wants, and what an augmentation draws is no list of names.
  bool Endangers(const v1::ScriptFact& cause, const v1::ScriptFact& use) const {
    if (cause.kind() != "shuffle" || use.kind() != "indexed") return true;
    return flow_.Has("distributed_init") && (flow_.MadeOf(cause, "listing") || flow_.MadeOf(cause, "list_files"));
  }

  // A listing is one fault, whatever its names are dealt out by: the first place is told, the others are evidence.
  void UnsortedListings() {
    struct Hazard {
      const v1::ScriptFact* cause;
      absl::string_view message;
      std::vector<const v1::ScriptFact*> uses;
    };
    std::vector<Hazard> hazards;
    std::map<std::string, std::size_t> known;
    std::set<std::string> told;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (!DealsByOrder(*fact)) continue;
      for (const v1::ScriptArgument& argument : fact->arguments()) {
        for (int number : argument.unsorted()) {
          const v1::ScriptFact* cause = flow_.FactAt(number);
          if (cause == nullptr || !Endangers(*cause, *fact)) continue;
          if (!told.insert(absl::StrCat(ScriptPlace(*cause), " ", ScriptPlace(*fact))).second) continue;
          const absl::string_view message = MessageOf(*cause, *fact);
          const auto at = known.emplace(absl::StrCat(ScriptPlace(*cause), message, cause->called()), hazards.size());
          if (at.second) hazards.push_back({cause, message, {}});
          hazards[at.first->second].uses.push_back(fact);
        }
      }
    }
    for (Hazard& one : hazards) {
      const v1::ScriptFact& use = *one.uses[0];
      ScriptFault& fault =
          list_.Add("data.sharding.order-hazard", one.message, *one.cause,
                    {{"use", ScriptPlace(use)}, {"by", use.arguments_size() > 0 ? use.arguments(0).text() : ""}});
      fault.evidence = std::move(one.uses);
    }
  }

  // --- data.preprocessing.host-dependent

  // What decides which samples come in which order.
  static bool DecidesOrder(const v1::ScriptFact& fact, const v1::ScriptArgument& argument) {
    static constexpr absl::string_view kNames[] = {"buffer_size", "seed",         "shuffling_queue_capacity",
                                                   "shuffle",     "cycle_length", "block_length",
                                                   "generator",   "initial"};
    const bool kind = fact.kind() == "shuffle" || fact.kind() == "sampler" || fact.kind() == "list_files" ||
                      fact.kind() == "interleave" || fact.kind() == "loader" || fact.kind() == "dataset";
    return kind && std::find(std::begin(kNames), std::end(kNames), argument.name()) != std::end(kNames);
  }

  static bool DecidesParallelism(const v1::ScriptArgument& argument) {
    static constexpr absl::string_view kNames[] = {"num_workers",        "num_parallel_calls", "num_parallel_workers",
                                                   "num_parallel_reads", "workers_count",      "num_proc"};
    return std::find(std::begin(kNames), std::end(kNames), argument.name()) != std::end(kNames);
  }

  // Whether a shuffle of the training's samples draws from the generator that the seed sets: of its own package, or
  // any where the function sets all.
  bool SeedsShuffle(const v1::ScriptFact& seed) const {
    const auto package = [](const v1::ScriptFact& fact) { return fact.name().substr(0, fact.name().find('.')); };
    const std::string of_seed = package(seed);
    const bool of_all = of_seed != "random" && of_seed != "numpy" && of_seed != "torch";
    return std::any_of(flow_.facts().begin(), flow_.facts().end(), [&](const v1::ScriptFact* fact) {
      if (fact->use() == "evaluation" || !fact->called()) return false;
      if (!of_all && package(*fact) != of_seed) return false;
      if (fact->kind() == "shuffle") return true;
      const bool shuffles = fact->kind() == "loader" || fact->kind() == "sampler" || fact->kind() == "dataset";
      return shuffles && IsTrue(FindScriptArgument(*fact, "shuffle"));
    });
  }

  // The figures of the host that a value is computed from: those that its own expression names. What an object was made
  // with besides (a pool of as many threads, a time for the log) makes none of what the object gives.
  std::string SourceOfHost(const v1::ScriptArgument& argument, std::vector<const v1::ScriptFact*>& places) const {
    std::vector<std::string> calls;
    for (int number : argument.from()) {
      const v1::ScriptFact* from = flow_.FactAt(number);
      if (from == nullptr || !absl::StartsWith(from->kind(), "host")) continue;
      const bool object = argument.name() == "generator";  // seeded behind its making, by whatever call
      if (!object && !absl::StrContains(argument.symbol(), absl::StrCat(from->name(), "("))) continue;
      calls.push_back(absl::StrCat(from->name(), " (", ScriptPlace(*from), ")"));
      places.push_back(from);
    }
    return absl::StrJoin(calls, ", ");
  }

  void HostValues() {
    std::set<std::string> told;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      for (const v1::ScriptArgument& argument : fact->arguments()) {
        if (!argument.follows_host() || fact->use() == "evaluation") continue;
        const bool seed = fact->kind() == "seed";
        const bool order = DecidesOrder(*fact, argument) || (seed && !fact->conditional() && SeedsShuffle(*fact));
        if (!order && !seed && !DecidesParallelism(argument)) continue;
        std::vector<const v1::ScriptFact*> places;
        const std::string source = SourceOfHost(argument, places);
        // One figure is one fault, in however many places it ends: random, numpy and torch are seeded in a row.
        if (source.empty() || !told.insert(absl::StrCat(order, fact->kind(), argument.name(), source)).second) continue;
        ScriptFault& fault = list_.Add("data.preprocessing.host-dependent", "follows_host/script", *fact,
                                       {{"what", absl::StrCat(fact->kind(), " ", argument.name())},
                                        {"text", argument.text()},
                                        {"source", source}});
        if (!order) fault.severity = v1::SEVERITY_WARNING;
        fault.evidence = std::move(places);
      }
    }
  }

  // --- data.preprocessing.shuffle

  // One that is told the same number each time is not told its epoch.
  bool SetsEpoch() const {
    std::set<std::string> numbers;
    for (const v1::ScriptFact* fact : flow_.OfKind("set_epoch")) {
      const v1::ScriptArgument* epoch = FindScriptArgument(*fact, "epoch");
      if (epoch == nullptr || !epoch->has_value() || fact->loops().empty()) return true;
      numbers.insert(ShowScriptValue(*epoch));
    }
    return numbers.size() > 1;
  }

  void EpochNotSet() {
    if (SetsEpoch() || flow_.Has("fit") || EngineSetsEpoch()) return;
    for (const v1::ScriptFact* sampler : flow_.OfKind("sampler")) {
      if (sampler->name() != "torch.utils.data.DistributedSampler" || IsFalse(FindScriptArgument(*sampler, "shuffle")))
        continue;
      const v1::ScriptLoop* outer = LoopOfEpochs(flow_.NumberOf(*sampler));
      if (outer == nullptr) continue;
      list_
          .Add("data.preprocessing.shuffle", "epoch_not_set/script", *sampler,
               {{"loop", absl::StrCat(outer->file(), ":", outer->line())}})
          .shared_is_warning = true;
      return;
    }
  }

  // Accelerate and Fabric take the loader over and tell its sampler the epoch; DeepSpeed does not.
  bool EngineSetsEpoch() const {
    const std::vector<const v1::ScriptFact*> engines = flow_.OfKind("engine");
    return std::any_of(engines.begin(), engines.end(),
                       [](const v1::ScriptFact* one) { return !absl::StartsWith(one->name(), "deepspeed."); });
  }

  // The loop around the one that trains over a loader made of the sampler; null.
  const v1::ScriptLoop* LoopOfEpochs(int sampler) const {
    for (const v1::ScriptFact* backward : flow_.OfKind("backward")) {
      for (int i = 1; i < backward->loops_size(); ++i) {
        const v1::ScriptLoop* loop = flow_.LoopAt(backward->loops(i));
        const v1::ScriptLoop* outer = flow_.LoopAt(backward->loops(i - 1));
        if (loop == nullptr || outer == nullptr || outer->over() == "range(1)") continue;
        if (std::find(loop->made_of().begin(), loop->made_of().end(), sampler) != loop->made_of().end()) return outer;
      }
    }
    return nullptr;
  }

  FaultList& list_;
  const ScriptFlow& flow_;
};

}  // namespace

void FindOrderFaults(FaultList& list) {
  OrderFaults(list).Run();
}

}  // namespace paritect
