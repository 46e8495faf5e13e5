// diff shards A B: which rank reads which file on both sides, as a picture of files by ranks; what is read twice, by
// nobody, or by another rank is marked and counted. A, B: a plan, a folder with one, a bundle, a list, a folder of
// lists or of the recorder's files.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "checks/shard_findings.h"
#include "checks/shard_view.h"
#include "client/diff/diff_kind.h"
#include "client/offline_audit.h"
#include "client/render/table_writer.h"
#include "client/report_json.h"
#include "client/terminal.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"
#include "formats/shards/trace_records.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kHeadBytes = 4096;
constexpr std::size_t kRowsShown = 40;
constexpr std::size_t kNamesListed = 200;
constexpr std::size_t kNameColumns = 40;

bool IsFolder(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kDirectory;
}

std::string HeadOf(FileSystem& fs, const std::string& path) {
  auto file = fs.Open(path);
  if (!file.ok()) return "";
  std::string head(kHeadBytes, '\0');
  head.resize((*file)->Read(absl::MakeSpan(head)).value_or(0));
  return head;
}

bool HoldsTraces(FileSystem& fs, const std::string& folder) {
  bool holds = false;
  (void)fs.List(folder, [&](const DirectoryEntry& entry) { holds = holds || absl::EndsWith(entry.name, ".ptrace"); });
  return holds || IsFolder(fs, JoinPath(folder, "trace"));
}

// Lists without a plan. The rank of a list is its own, or the number in its name.
absl::StatusOr<v1::Bundle> CollectLists(CommandEnv& env, const std::string& path) {
  v1::Plan plan;
  plan.mutable_info()->set_run(DisplayBytes(path));
  plan.mutable_info()->set_node(env.host_name);
  plan.mutable_info()->set_role(v1::ROLE_RUN);
  plan.set_base(".");
  const std::string absolute = JoinPath(env.working_directory, path);
  if (!IsFolder(env.fs, path)) {
    const bool trace = absl::StartsWith(HeadOf(env.fs, path), kTraceMagic);
    (trace ? plan.add_shards()->mutable_trace() : plan.add_shards()->mutable_list())->assign(absolute);
    return CollectPlan({env.fs, env.rules}, plan);
  }
  if (HoldsTraces(env.fs, path)) {
    plan.add_shards()->set_trace(absolute);
    return CollectPlan({env.fs, env.rules}, plan);
  }
  std::vector<std::string> names;
  PARITECT_RETURN_IF_ERROR(env.fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
  std::set<std::string> patterns;
  for (std::string name : names) {
    // "rank_0003.txt" is one of "rank_{rank}.txt".
    const std::size_t last = name.find_last_of("0123456789");
    if (last == std::string::npos) continue;
    std::size_t first = last;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
    patterns.insert(StrCat(name.substr(0, first), "{rank}", name.substr(last + 1)));
  }
  for (const std::string& pattern : patterns) plan.add_shards()->set_list(JoinPath(absolute, pattern));
  return CollectPlan({env.fs, env.rules}, plan);
}

absl::StatusOr<v1::Bundle> LoadSide(CommandEnv& env, const std::string& path) {
  if (!env.fs.Stat(path).ok()) {
    return absl::NotFoundError(
        StrCat(DisplayBytes(path), ": not there; give a plan, a bundle, a shard list or a folder of lists"));
  }
  const bool plan = IsFolder(env.fs, path)
                        ? env.fs.Stat(JoinPath(path, "plan.yaml")).ok()
                        : LooksLikeBundle(HeadOf(env.fs, path)) || absl::EndsWith(path, ".pbundle") ||
                              absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml");
  PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, plan ? LoadSidePlan(env, path) : CollectLists(env, path));
  const bool any = std::any_of(bundle.evidence().begin(), bundle.evidence().end(),
                               [](const v1::Evidence& evidence) { return evidence.has_shards(); });
  if (any) return bundle;
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (evidence.kind() != v1::EVIDENCE_KIND_SHARDS) continue;
    MessageArgs args(evidence.problem().args().begin(), evidence.problem().args().end());
    return absl::InvalidArgumentError(env.rules.messages.Say(evidence.problem().id(), args).en());
  }
  return absl::InvalidArgumentError(StrCat(DisplayBytes(path), ": no shard list in it"));
}

// --- what the picture shows --------------------------------------------------------------------------

enum class Mark { kSame, kMoved, kTwice, kUnread, kOnlyOneSide };

absl::string_view MarkWord(Mark mark) {
  switch (mark) {
    case Mark::kSame: return "same";
    case Mark::kMoved: return "other_rank";
    case Mark::kTwice: return "read_twice";
    case Mark::kUnread: return "not_read";
    case Mark::kOnlyOneSide: return "only_one_side";
  }
  return "";
}

// Readers of one file on one side: the first rank, and how many. Four bytes each: a million files are no burden.
struct Readers {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> count;
};

struct Row {
  ItemId item = 0;
  Mark mark = Mark::kSame;
};

struct Picture {
  std::string dataset;
  std::optional<int> epoch;
  const ShardPair* pair = nullptr;
  Readers sides[2];
  int ranks[2] = {0, 0};
  std::vector<Row> rows;  // by name
  std::map<Mark, std::size_t> counts;
  std::vector<int> order_differs;  // ranks that read the same files in another order
};

Readers ReadersOf(const ShardPair& pair, const ShardEpoch* epoch, int& ranks) {
  Readers out = {std::vector<std::int32_t>(pair.names.size(), -1), std::vector<std::int32_t>(pair.names.size(), 0)};
  if (epoch == nullptr) return out;
  for (const ShardReader& reader : epoch->readers) {
    ranks = std::max(ranks, reader.rank + 1);
    for (ItemId id : reader.items) {
      if (out.first[id] == reader.rank && out.count[id] == 1) continue;
      if (out.count[id]++ == 0) out.first[id] = reader.rank;
    }
  }
  return out;
}

Mark MarkOf(const Picture& picture, ItemId id) {
  const auto& a = picture.sides[0];
  const auto& b = picture.sides[1];
  if (a.count[id] > 1 || b.count[id] > 1) return Mark::kTwice;
  if (a.count[id] == 0 && b.count[id] == 0) return Mark::kUnread;
  if (a.count[id] == 0 || b.count[id] == 0) return Mark::kOnlyOneSide;
  return a.first[id] == b.first[id] ? Mark::kSame : Mark::kMoved;
}

void CompareOrders(const ShardRun& a, const ShardEpoch& first, const ShardRun& b, const ShardEpoch& second,
                   Picture& picture) {
  if (Unordered(first, second)) return;
  const auto lists = ListsByRank(a, first), others = ListsByRank(b, second);
  for (std::size_t rank = 0; rank < std::min(lists.size(), others.size()); ++rank) {
    if (lists[rank] == others[rank]) continue;
    std::vector<ItemId> sorted[2] = {lists[rank], others[rank]};
    for (auto& list : sorted) std::sort(list.begin(), list.end());
    if (sorted[0] == sorted[1]) picture.order_differs.push_back(static_cast<int>(rank));
  }
}

Picture MakePicture(const ShardPair& pair, const ShardEpoch* baseline, const ShardEpoch* migrated) {
  Picture picture;
  picture.dataset = pair.dataset;
  picture.pair = &pair;
  picture.epoch = baseline != nullptr ? baseline->epoch : migrated->epoch;
  picture.sides[0] = ReadersOf(pair, baseline, picture.ranks[0]);
  picture.sides[1] = ReadersOf(pair, migrated, picture.ranks[1]);
  for (ItemId id = 0; id < pair.names.size(); ++id) {
    const bool read = picture.sides[0].count[id] > 0 || picture.sides[1].count[id] > 0;
    if (!read && !pair.expected[id]) continue;
    const Mark mark = MarkOf(picture, id);
    ++picture.counts[mark];
    picture.rows.push_back({id, mark});
  }
  std::sort(picture.rows.begin(), picture.rows.end(),
            [&](const Row& a, const Row& b) { return pair.names[a.item] < pair.names[b.item]; });
  if (baseline != nullptr && migrated != nullptr) {
    CompareOrders(*pair.baseline, *baseline, pair.migrated[0], *migrated, picture);
  }
  return picture;
}

std::vector<Picture> MakePictures(const std::vector<ShardPair>& pairs) {
  std::vector<Picture> pictures;
  for (const ShardPair& pair : pairs) {
    const ShardRun* migrated = pair.migrated.empty() ? nullptr : &pair.migrated[0];
    std::set<const ShardEpoch*> shown;
    if (pair.baseline) {
      for (const ShardEpoch& epoch : pair.baseline->epochs) {
        const ShardEpoch* other = migrated == nullptr ? nullptr : FindEpoch(*pair.baseline, epoch, *migrated);
        shown.insert(other);
        pictures.push_back(MakePicture(pair, &epoch, other));
      }
    }
    if (migrated == nullptr) continue;
    for (const ShardEpoch& epoch : migrated->epochs) {
      if (!shown.contains(&epoch)) pictures.push_back(MakePicture(pair, nullptr, &epoch));
    }
  }
  return pictures;
}

bool IsEqual(const Picture& picture) {
  for (const auto& [mark, count] : picture.counts) {
    if (mark != Mark::kSame && count > 0) return false;
  }
  return picture.order_differs.empty() && picture.ranks[0] == picture.ranks[1];
}

// --- json ----------------------------------------------------------------------------------------------

OrderedJson SideJson(const Readers& readers, ItemId id) {
  if (readers.count[id] == 0) return nullptr;
  return {{"rank", readers.first[id]}, {"readers", readers.count[id]}};
}

OrderedJson ToJson(const Picture& picture, bool all) {
  OrderedJson json;
  json["dataset"] = DisplayBytes(picture.dataset);
  json["epoch"] = picture.epoch ? OrderedJson(*picture.epoch) : OrderedJson(nullptr);
  json["ranks"] = {{"a", picture.ranks[0]}, {"b", picture.ranks[1]}};
  json["equal"] = IsEqual(picture);
  OrderedJson& counts = json["counts"];
  for (Mark mark : {Mark::kSame, Mark::kMoved, Mark::kTwice, Mark::kUnread, Mark::kOnlyOneSide}) {
    auto it = picture.counts.find(mark);
    counts[std::string(MarkWord(mark))] = it == picture.counts.end() ? 0 : it->second;
  }
  json["order_differs"] = picture.order_differs;
  json["files"] = OrderedJson::array();
  std::size_t listed = 0;
  for (const Row& row : picture.rows) {
    if (row.mark == Mark::kSame && !all) continue;
    if (!all && listed++ == kNamesListed) break;
    json["files"].push_back({{"path", DisplayBytes(picture.pair->names[row.item])},
                             {"mark", MarkWord(row.mark)},
                             {"a", SideJson(picture.sides[0], row.item)},
                             {"b", SideJson(picture.sides[1], row.item)}});
  }
  return json;
}

// --- terminal ------------------------------------------------------------------------------------------

// One line a file and one column a rank (or a group of them, where ranks are more than columns): who reads it on which
// side. Where files are more than lines, those that differ come first.
class PicturePrinter {
 public:
  PicturePrinter(CommandEnv& env, const DiffRequest& request, const Picture& picture)
      : rules_(env.rules), request_(request), picture_(picture), w_(request.render, env.out) {
    const int ranks = std::max({picture.ranks[0], picture.ranks[1], 1});
    const auto room = static_cast<int>(
        std::max<std::size_t>(8, static_cast<std::size_t>(request.render.columns) > kNameColumns + 14
                                     ? static_cast<std::size_t>(request.render.columns) - kNameColumns - 14
                                     : 8));
    group_ = (ranks + room - 1) / room;
    columns_ = (ranks + group_ - 1) / group_;
  }

  void Print() {
    std::string title = picture_.dataset.empty() ? "shards" : DisplayBytes(picture_.dataset);
    if (picture_.epoch) absl::StrAppend(&title, ", epoch ", *picture_.epoch);
    w_.Heading(
        StrCat(title, "  ",
               Say("ui_shards_ranks",
                   {{"a", StrCat(picture_.ranks[0])}, {"b", StrCat(picture_.ranks[1])}, {"group", StrCat(group_)}})));
    std::vector<Row> rows;
    for (const Row& row : picture_.rows) {
      if (row.mark != Mark::kSame) rows.push_back(row);
    }
    const bool fits = picture_.rows.size() <= kRowsShown || request_.all;
    if (fits) rows = picture_.rows;
    const std::size_t shown = fits ? rows.size() : std::min(rows.size(), kRowsShown);
    for (std::size_t i = 0; i < shown; ++i) PrintRow(rows[i]);
    if (shown < picture_.rows.size()) {
      w_.Wrapped(0, "", Say("ui_shards_hidden", {{"count", StrCat(picture_.rows.size() - shown)}}), Style::kDim);
    }
    w_.Wrapped(0, "", Say("ui_shards_legend"), Style::kDim);
    Count("ui_shards_same", Mark::kSame, Style::kPlain);
    Count("ui_shards_moved", Mark::kMoved, Style::kYellow);
    Count("ui_shards_twice", Mark::kTwice, Style::kRed);
    Count("ui_shards_unread", Mark::kUnread, Style::kRed);
    Count("ui_shards_one_side", Mark::kOnlyOneSide, Style::kRed);
    if (!picture_.order_differs.empty()) {
      w_.Wrapped(0, "", Say("ui_shards_order", {{"ranks", absl::StrJoin(picture_.order_differs, ", ")}}),
                 Style::kYellow);
    }
    w_.Line();
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return InAll(request_.render.languages, rules_.messages.Say(id, args));
  }

  void Count(absl::string_view id, Mark mark, Style style) {
    auto it = picture_.counts.find(mark);
    if (it != picture_.counts.end() && it->second > 0) {
      w_.Wrapped(0, "", Say(id, {{"count", StrCat(it->second)}}), style);
    }
  }

  void PrintRow(const Row& row) {
    const Readers& a = picture_.sides[0];
    const Readers& b = picture_.sides[1];
    std::string cells(static_cast<std::size_t>(columns_), '.');
    const auto cell = [&](std::int32_t rank) -> char& { return cells[static_cast<std::size_t>(rank / group_)]; };
    if (a.count[row.item] > 0 && a.first[row.item] >= 0) cell(a.first[row.item]) = 'a';
    if (b.count[row.item] > 0 && b.first[row.item] >= 0) {
      char& at = cell(b.first[row.item]);
      at = at == 'a' ? '=' : 'b';
    }
    std::string mark = row.mark == Mark::kSame ? "" : std::string(MarkWord(row.mark));
    for (int side = 0; side < 2; ++side) {
      const Readers& readers = side == 0 ? a : b;
      if (readers.count[row.item] > 1) absl::StrAppend(&mark, " ", side == 0 ? "a" : "b", "x", readers.count[row.item]);
      if (readers.count[row.item] == 0) absl::StrAppend(&mark, " ", side == 0 ? "a" : "b", ":0");
    }
    const std::string name = Shorten(TerminalSafe(picture_.pair->names[row.item]), kNameColumns, request_.render.ascii);
    w_.Line(StrCat(Pad(name, kNameColumns), " ", cells, mark.empty() ? "" : " ", mark));
  }

  const Rules& rules_;
  const DiffRequest& request_;
  const Picture& picture_;
  TableWriter w_;
  int group_ = 1;
  int columns_ = 1;
};

absl::StatusOr<bool> RunDiff(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(v1::Bundle a, LoadSide(env, request.a));
  PARITECT_ASSIGN_OR_RETURN(v1::Bundle b, LoadSide(env, request.b));
  std::vector<v1::Bundle> sides[2];
  sides[0].push_back(std::move(a));
  sides[1].push_back(std::move(b));
  const EvidenceSet evidence(std::move(sides[0]), std::move(sides[1]));
  const std::vector<Picture> pictures = MakePictures(PairShards(evidence));
  const bool equal = std::all_of(pictures.begin(), pictures.end(), IsEqual);
  if (request.json) {
    OrderedJson json;
    json["schema"] = "paritect.diff/1";
    json["kind"] = "shards";
    json["a"] = DisplayBytes(request.a);
    json["b"] = DisplayBytes(request.b);
    json["equal"] = equal;
    json["lists"] = OrderedJson::array();
    for (const Picture& picture : pictures) json["lists"].push_back(ToJson(picture, request.all));
    env.out << json.dump(1) << "\n";
    return equal;
  }
  for (const Picture& picture : pictures) PicturePrinter(env, request, picture).Print();
  return equal;
}

}  // namespace

extern const DiffKind kShardsDiff;
const DiffKind kShardsDiff = {"shards", "which rank reads which file", &RunDiff};

}  // namespace paritect
