#include "client/diff/dataset_comparison.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/pairs.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// "… (data set -)": the name of the set stands elsewhere here.
std::string WithoutDataset(absl::string_view text) {
  for (absl::string_view tail : {" (data set -)", "（数据集 -）"}) absl::ConsumeSuffix(&text, tail);
  return std::string(text);
}

class Comparer {
 public:
  Comparer(const DatasetView& a, const DatasetView& b, const Rules& rules, DatasetComparison& out)
      : a_(a), b_(b), rules_(rules), out_(out) {}

  void Run() {
    const DatasetDifference difference = CompareViews(a_, b_);
    const ExplainContext context = MakeExplainContext(difference, a_, b_);
    for (const FilePair& pair : difference.common) Compare(pair, context, true);
    for (const FilePair& pair : difference.renamed) {
      Renamed(pair);
      Compare(pair, context, false);
    }
    for (const CaseCollision& c : difference.collisions) {
      FileDifference one = Make("case_collision", *c.gone);
      one.other = c.kept->path();
      one.message = Say("case_collision", {{"other", c.kept->path()}});
      Add(std::move(one));
    }
    for (const NamedFile* file : difference.missing) OneSide("missing", *file, b_);
    for (const NamedFile* file : difference.extra) OneSide("extra", *file, a_);
    std::stable_sort(out_.differences.begin(), out_.differences.end(),
                     [](const FileDifference& x, const FileDifference& y) { return x.path < y.path; });
  }

 private:
  v1::Text Say(absl::string_view id, MessageArgs args) const {
    for (auto& [name, value] : args) value = DisplayBytes(value);
    args.emplace_back("dataset", "-");
    v1::Text text = rules_.messages.Say(id, args);
    text.set_en(WithoutDataset(text.en()));
    text.set_zh(WithoutDataset(text.zh()));
    return text;
  }

  static FileDifference Make(absl::string_view kind, const NamedFile& file) {
    FileDifference one;
    one.kind = std::string(kind);
    one.path = file.path();
    return one;
  }
  void Add(FileDifference one) { out_.differences.push_back(std::move(one)); }

  static std::optional<std::uint64_t> SizeOf(const v1::FileEntry& entry) {
    return entry.has_size_bytes() ? std::optional<std::uint64_t>(entry.size_bytes()) : std::nullopt;
  }

  // Links and special files that the other side, a list, cannot name are no difference.
  void OneSide(const char* word, const NamedFile& file, const DatasetView& other) {
    if (file.entry->type() != v1::FILE_TYPE_REGULAR && !other.is_tree) return;
    FileDifference one = Make(word, file);
    for (const auto& [hint, kind] : {std::make_pair(v1::FILE_HINT_OS_JUNK, "os_junk"),
                                     std::make_pair(v1::FILE_HINT_UNFINISHED_TRANSFER, "unfinished_transfer"),
                                     std::make_pair(v1::FILE_HINT_DANGLING_LINK, "dangling_link"),
                                     std::make_pair(v1::FILE_HINT_LINK_LOOP, "link_loop")}) {
      if (HasFileHint(*file.entry, hint)) one.kind = kind;
    }
    (&other == &b_ ? one.a_size : one.b_size) = SizeOf(*file.entry);
    Add(std::move(one));
  }

  void Renamed(const FilePair& pair) {
    FileDifference one = Make(pair.how == "case" ? "renamed" : pair.how, *pair.baseline);
    one.other = pair.migrated->path();
    Add(std::move(one));
  }

  void Compare(const FilePair& pair, const ExplainContext& context, bool same_name) {
    const v1::FileEntry& a = *pair.baseline->entry;
    const v1::FileEntry& b = *pair.migrated->entry;
    const ContentVerdict verdict = CompareContent(a, b);
    const auto a_crc = AlternateOf(a, "crc32");
    const auto b_crc = AlternateOf(b, "crc32");
    const bool weak = verdict == ContentVerdict::kUnknown && a_crc && b_crc && *a_crc == *b_crc;
    out_.by_crc32 += weak ? 1 : 0;
    if (verdict == ContentVerdict::kEqual || weak) {
      if (same_name) out_.equal.push_back(pair.baseline->path());
      return;
    }
    FileDifference one = Make("unknown", *pair.baseline);
    one.a_size = SizeOf(a);
    one.b_size = SizeOf(b);
    const bool dangling_b = HasFileHint(b, v1::FILE_HINT_DANGLING_LINK);
    if (dangling_b != HasFileHint(a, v1::FILE_HINT_DANGLING_LINK)) {
      one.kind = "dangling_link";
      one.message = Say("dangling_link", {{"target", dangling_b ? b.link_target() : a.link_target()}});
    } else if (verdict == ContentVerdict::kUnknown) {
      ++out_.unknown;
    } else {
      const Explanation why = ExplainContent(pair, context);
      one.kind = why.message_id.substr(0, why.message_id.find('/'));
      one.message = Say(why.message_id, why.args);
    }
    if (!same_name) one.other = pair.migrated->path();
    Add(std::move(one));
  }

  const DatasetView& a_;
  const DatasetView& b_;
  const Rules& rules_;
  DatasetComparison& out_;
};

}  // namespace

std::vector<DatasetComparison> CompareDatasets(const EvidenceSet& evidence, const Rules& rules) {
  std::vector<DatasetComparison> out;
  for (const DatasetPair& pair : PairDatasets(evidence)) {
    if (pair.baseline.empty() || pair.migrated.empty()) {
      DatasetComparison& alone = out.emplace_back();
      alone.name = pair.name;
      alone.only_a = pair.migrated.empty();
      alone.only_b = pair.baseline.empty();
      continue;
    }
    for (const DatasetView& migrated : pair.migrated) {
      DatasetComparison& one = out.emplace_back();
      one.name = pair.name;
      one.a_where = pair.baseline[0].where;
      one.b_where = migrated.where;
      one.incomplete =
          pair.baseline[0].incomplete || migrated.incomplete || pair.baseline[0].lone_part || migrated.lone_part;
      Comparer(pair.baseline[0], migrated, rules, one).Run();
    }
  }
  return out;
}

}  // namespace paritect
