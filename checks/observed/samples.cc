// data.preprocessing.samples: were the first batches made of the same samples, and are they the same to the last bit?
// What the sampler dealt out decides; batches of one order that differ have been prepared in another way, or by chance
// (random augmentation) where the seeds are not the same. Source: pre-tuning checklist, 数据处理：预处理流程与基准一致.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "checks/observed/generators.h"
#include "checks/observed/observed_run.h"

namespace paritect {
namespace {

constexpr char kTraining[] = "training";

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result, const ObservedRun& a, const ObservedRun& b,
        const std::string& run)
      : context_(context), result_(result), a_(a), b_(b), run_(run) {}

  void Run() {
    const bool unpaired = Unpaired(a_);
    if (Unpaired(b_) || unpaired) return;
    if (a_.ranks().size() != b_.ranks().size()) {
      AddMissing(context_, result_, "observed_other_ranks", run_,
                 {{"baseline", absl::StrCat(a_.ranks().size())}, {"migrated", absl::StrCat(b_.ranks().size())}});
      return;
    }
    for (std::size_t i = 0; i < a_.ranks().size(); ++i) Rank(a_.ranks()[i], b_.ranks()[i]);
    if (indices_ + batches_ == 0) {
      AddMissing(context_, result_, "observed_no_batches", run_);
      return;
    }
    v1::Finding& note = AddNote(context_, result_, "measured/samples", run_,
                                {{"batches", absl::StrCat(batches_)}, {"orders", absl::StrCat(indices_)}});
    SetFact(note, "batches", batches_);
    SetFact(note, "orders", indices_);
  }

 private:
  // Which process is which of the other side is not known.
  bool Unpaired(const ObservedRun& observed) {
    for (const ObservedRank& rank : observed.ranks()) {
      const ObservedFact* count = rank.Find("unpaired");
      if (count == nullptr) continue;
      AddMissing(context_, result_, "observed_unpaired", rank.where, {{"count", count->value}});
      return true;
    }
    return false;
  }

  // Digests that both sides have under a key.
  template <typename Visit>
  void ForEachCommon(const ObservedRank& a, const ObservedRank& b, absl::string_view prefix, Visit visit) {
    for (const ObservedFact& fact : a.facts) {
      // "training 2": a program may train on batches of several loaders.
      if (!absl::StartsWith(fact.scope, kTraining) || !absl::StartsWith(fact.key, prefix)) continue;
      const ObservedFact* other = b.Find(fact.key, fact.scope);
      if (other != nullptr && !fact.value.empty() && !other->value.empty()) visit(fact, *other);
    }
  }

  // "batch.3.digest": 3.
  static std::string NumberIn(absl::string_view key, absl::string_view prefix) {
    return std::string(absl::StripSuffix(absl::StripPrefix(key, prefix), ".digest"));
  }

  void Rank(const ObservedRank& a, const ObservedRank& b) {
    const int before = indices_ + batches_;
    bool same_order = true;
    ForEachCommon(a, b, "indices.", [&](const ObservedFact& x, const ObservedFact& y) {
      ++indices_;
      if (x.value == y.value || !same_order) return;
      same_order = false;
      Report("sample_order_differs", b, x, y, NumberIn(x.key, "indices."));
    });
    if (!same_order) {
      NameOnce(v1::SEVERITY_ERROR, a, b);
      return;
    }
    bool told = Batches("batch_differs", "batch.", a, b);
    // A loop of the program's own: what the model was given.
    if (indices_ + batches_ == before) told = Batches("fed_differs", "fed.", a, b);
    if (told) NameOnce(v1::SEVERITY_WARNING, a, b);
  }

  // Whether one was told that differs: the first.
  bool Batches(absl::string_view id, absl::string_view prefix, const ObservedRank& a, const ObservedRank& b) {
    bool told = false;
    ForEachCommon(a, b, prefix, [&](const ObservedFact& x, const ObservedFact& y) {
      ++batches_;
      if (x.value == y.value || told) return;
      told = true;
      Report(id, b, x, y, NumberIn(x.key, prefix));
    });
    return told;
  }

  // One rank says it for all.
  void NameOnce(v1::Severity severity, const ObservedRank& a, const ObservedRank& b) {
    if (!named_) named_ = NameGenerators(context_, result_, severity, a, b);
  }

  void Report(absl::string_view id, const ObservedRank& rank, const ObservedFact& a, const ObservedFact& b,
              const std::string& number) {
    const bool order = id == "sample_order_differs";
    v1::Finding& finding = AddFinding(context_, result_, order ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING, id,
                                      rank.where, {{"rank", rank.where}, {"number", number}});
    finding.set_baseline(a.value);
    finding.set_migrated(b.value);
    finding.add_evidence(a.origin);
    finding.add_evidence(b.origin);
    // Without a seed that both have, chance may have made them.
    if (!order) AddMissing(context_, result_, "observed_batch_chance", rank.where);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const ObservedRun& a_;
  const ObservedRun& b_;
  const std::string& run_;
  int indices_ = 0, batches_ = 0;
  bool named_ = false;  // the generators that may have made the difference
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunView> baseline = context.evidence.Runs(Side::kBaseline);
  const std::vector<RunView> migrated = context.evidence.Runs(Side::kMigrated);
  const ObservedRun* reference = nullptr;
  for (const RunView& run : baseline) {
    const ObservedRun& one = ObservedRun::Of(context, run);
    if (reference == nullptr && one.seen()) reference = &one;
  }
  if (reference == nullptr) AddMissing(context, result, "samples_not_recorded", SideName(Side::kBaseline));
  if (migrated.empty()) AddMissing(context, result, "samples_not_recorded", SideName(Side::kMigrated));
  for (const RunView& run : migrated) {
    const ObservedRun& observed = ObservedRun::Of(context, run);
    if (!observed.seen()) {
      AddMissing(context, result, "samples_not_recorded", run.name);
    } else if (reference != nullptr) {
      Judge(context, result, *reference, observed, run.name).Run();
    }
  }
}

}  // namespace

extern const Check kPreprocessingSamples;
const Check kPreprocessingSamples = {"data.preprocessing.samples", {}, &Evaluate};

}  // namespace paritect
