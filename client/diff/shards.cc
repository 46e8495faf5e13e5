// diff shards A B: which rank reads which file on both sides, as a picture of files by ranks; what is read twice, by
// nobody, or by another rank is marked and counted. A, B: a plan, a folder with one, a bundle, a list, a folder of
// lists or of the recorder's files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "checks/shards/shard_picture.h"
#include "checks/shards/view.h"
#include "client/diff/diff_kind.h"
#include "client/plan/side_input.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "client/report/offline_audit.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"
#include "formats/shards/trace_records.h"
#include "report/terminal.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kHeadBytes = 4096;
constexpr std::size_t kRowsShown = 40;
constexpr std::size_t kNamesListed = 200;
constexpr std::size_t kNameColumns = 40;
constexpr std::size_t kMarkColumns = 24;
constexpr ShardMark kMarks[] = {ShardMark::kSame,   ShardMark::kMoved,   ShardMark::kTwice,
                                ShardMark::kUnread, ShardMark::kOneSide, ShardMark::kBeside};

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
  return holds || BaseName(folder) == "trace" || IsFolder(fs, JoinPath(folder, "trace"));
}

absl::StatusOr<v1::Bundle> CollectShards(CommandEnv& env, const v1::Plan& drafted) {
  v1::Plan plan;
  *plan.mutable_info() = drafted.info();
  plan.set_base(drafted.base());
  *plan.mutable_shards() = drafted.shards();
  return CollectPlan({env.fs, env.rules}, plan);
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
  const std::optional<v1::Plan> drafted = DraftOfRun(env, path);
  const bool in_a_run = drafted.has_value() && drafted->shards_size() > 0;
  PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, plan       ? LoadSidePlan(env, path)
                                               : in_a_run ? CollectShards(env, *drafted)
                                                          : CollectLists(env, path));
  const bool any = std::any_of(bundle.evidence().begin(), bundle.evidence().end(),
                               [](const v1::Evidence& evidence) { return evidence.has_shards(); });
  if (any) return bundle;
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (evidence.kind() != v1::EVIDENCE_KIND_SHARDS) continue;
    MessageArgs args(evidence.problem().args().begin(), evidence.problem().args().end());
    return absl::InvalidArgumentError(env.rules.messages.Say(evidence.problem().id(), args).en());
  }
  return absl::InvalidArgumentError(
      StrCat(DisplayBytes(path),
             ": no shard list in it; record what each rank reads (`paritect run --run NAME -- CMD`), "
             "or print the lists and name them under `shards:` in a plan"));
}

// --- json ----------------------------------------------------------------------------------------------

OrderedJson SideJson(absl::Span<const std::int32_t> ranks) {
  if (ranks.empty()) return nullptr;
  return {
      {"rank", ranks[0]}, {"readers", ranks.size()}, {"ranks", std::vector<std::int32_t>(ranks.begin(), ranks.end())}};
}

// null: what is there is equal, and something is not known.
OrderedJson EqualJson(bool differs, bool known) {
  return differs ? OrderedJson(false) : known ? OrderedJson(true) : OrderedJson(nullptr);
}

OrderedJson ToJson(const ShardPicture& picture, bool all) {
  OrderedJson json;
  json["dataset"] = DisplayBytes(picture.dataset);
  json["epoch"] = picture.epoch ? OrderedJson(*picture.epoch) : OrderedJson(nullptr);
  json["ranks"] = {{"a", picture.ranks[0]}, {"b", picture.ranks[1]}};
  json["equal"] = EqualJson(picture.differs(), picture.not_known.empty());
  OrderedJson& counts = json["counts"];
  for (ShardMark mark : kMarks) {
    auto it = picture.counts.find(mark);
    counts[std::string(ShardMarkWord(mark))] = it == picture.counts.end() ? 0 : it->second;
  }
  json["order_differs"] = picture.order_differs;
  json["not_known"] = picture.not_known;
  json["files"] = OrderedJson::array();
  std::size_t listed = 0;
  for (const ShardPicture::Row& row : picture.rows) {
    if (row.mark == ShardMark::kSame && !all) continue;
    if (!all && listed++ == kNamesListed) break;
    json["files"].push_back({{"path", DisplayBytes(picture.pair->names[row.item])},
                             {"mark", ShardMarkWord(row.mark)},
                             {"differs", row.differs},
                             {"a", SideJson(picture.sides[0].Of(row.item))},
                             {"b", SideJson(picture.sides[1].Of(row.item))}});
  }
  return json;
}

// --- terminal ------------------------------------------------------------------------------------------

// One line a file and one column a rank (or a group of them, where ranks are more than columns): who reads it on which
// side. Where files are more than lines, those that differ come first. ASCII, so that any terminal shows it.
class PicturePrinter {
 public:
  PicturePrinter(CommandEnv& env, const DiffRequest& request, const ShardPicture& picture)
      : rules_(env.rules), request_(request), picture_(picture), w_(request.render, env.out) {
    const auto width = static_cast<std::size_t>(std::max(request.render.columns, 24));
    name_columns_ = std::clamp<std::size_t>(width / 3, 8, kNameColumns);
    const std::size_t marks = std::min(kMarkColumns, width / 4);
    const std::size_t room = width > name_columns_ + marks + 10 ? width - name_columns_ - marks - 2 : 8;
    const int ranks = std::max({picture.ranks[0], picture.ranks[1], 1});
    group_ = (ranks + static_cast<int>(room) - 1) / static_cast<int>(room);
    cells_ = static_cast<std::size_t>((ranks + group_ - 1) / group_);
    mark_columns_ = width > name_columns_ + cells_ + 2 ? width - name_columns_ - cells_ - 2 : 0;
  }

  void Print() {
    std::string title = picture_.dataset.empty() ? "shards" : DisplayBytes(picture_.dataset);
    if (picture_.epoch) absl::StrAppend(&title, ", epoch ", *picture_.epoch);
    w_.Heading(Shorten(title, static_cast<std::size_t>(std::max(request_.render.columns, 24)), request_.render.ascii));
    w_.Wrapped(0, "",
               Say("ui_shards_ranks",
                   {{"a", StrCat(picture_.ranks[0])}, {"b", StrCat(picture_.ranks[1])}, {"group", StrCat(group_)}}));
    PrintRows();
    w_.Wrapped(0, "", Say("ui_shards_legend"), Style::kDim);
    Count("ui_shards_same", ShardMark::kSame, Style::kPlain);
    Count("ui_shards_moved", ShardMark::kMoved, Style::kYellow);
    Count("ui_shards_twice", ShardMark::kTwice, Style::kRed);
    Count("ui_shards_unread", ShardMark::kUnread, Style::kRed);
    Count("ui_shards_one_side", ShardMark::kOneSide, Style::kRed);
    Count("ui_shards_beside", ShardMark::kBeside, Style::kPlain);
    if (!picture_.order_differs.empty()) {
      w_.Wrapped(0, "", Say("ui_shards_order", {{"ranks", absl::StrJoin(picture_.order_differs, ", ")}}),
                 Style::kYellow);
    }
    for (const std::string& why : picture_.not_known) {
      w_.Wrapped(0, "", Say("ui_shards_not_known", {{"why", why}}), Style::kYellow);
    }
    w_.Line();
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return InAll(request_.render.languages, rules_.messages.Say(id, args));
  }

  void Count(absl::string_view id, ShardMark mark, Style style) {
    auto it = picture_.counts.find(mark);
    if (it != picture_.counts.end() && it->second > 0) {
      w_.Wrapped(0, "", Say(id, {{"count", StrCat(it->second)}}), style);
    }
  }

  void PrintRows() {
    std::vector<ShardPicture::Row> rows;
    for (const ShardPicture::Row& row : picture_.rows) {
      if (row.mark != ShardMark::kSame) rows.push_back(row);
    }
    const bool fits = picture_.rows.size() <= kRowsShown || request_.all;
    if (fits) rows = picture_.rows;
    const std::size_t shown = fits ? rows.size() : std::min(rows.size(), kRowsShown);
    for (std::size_t i = 0; i < shown; ++i) PrintRow(rows[i]);
    if (shown < picture_.rows.size()) {
      w_.Wrapped(0, "", Say("ui_shards_hidden", {{"count", StrCat(picture_.rows.size() - shown)}}), Style::kDim);
    }
  }

  // "." nobody, "a" or "b" one side, "=" the same ranks of the cell on both, "~" others of them; capitals and "#" where
  // the side, or both, read the file more than once.
  std::string Cells(ItemId item) const {
    std::vector<std::vector<std::int32_t>> readers[2];
    for (int side = 0; side < 2; ++side) {
      readers[side].resize(cells_);
      for (std::int32_t rank : picture_.sides[side].Of(item)) {
        if (rank >= 0) readers[side][static_cast<std::size_t>(rank / group_)].push_back(rank);
      }
    }
    const bool twice[2] = {picture_.sides[0].Of(item).size() > 1, picture_.sides[1].Of(item).size() > 1};
    std::string cells(cells_, '.');
    for (std::size_t i = 0; i < cells_; ++i) {
      const auto &a = readers[0][i], &b = readers[1][i];
      if (!a.empty() && !b.empty()) {
        cells[i] = twice[0] && twice[1] ? '#' : a == b ? '=' : '~';
      } else if (!a.empty()) {
        cells[i] = twice[0] ? 'A' : 'a';
      } else if (!b.empty()) {
        cells[i] = twice[1] ? 'B' : 'b';
      }
    }
    return cells;
  }

  void PrintRow(const ShardPicture::Row& row) {
    std::string mark = row.mark == ShardMark::kSame ? "" : std::string(ShardMarkWord(row.mark));
    for (int side = 0; side < 2; ++side) {
      const std::size_t count = picture_.sides[side].Of(row.item).size();
      if (count > 1) absl::StrAppend(&mark, " ", side == 0 ? "a" : "b", "x", count);
      if (count == 0 && row.mark != ShardMark::kBeside) absl::StrAppend(&mark, " ", side == 0 ? "a" : "b", ":0");
    }
    const std::string name =
        Shorten(TerminalSafe(picture_.pair->names[row.item]), name_columns_, request_.render.ascii);
    std::string line = StrCat(Pad(name, name_columns_), " ", Cells(row.item));
    if (!mark.empty() && mark_columns_ > 3) {
      absl::StrAppend(&line, " ", Shorten(mark, mark_columns_, request_.render.ascii));
    }
    w_.Line(line);
  }

  const Rules& rules_;
  const DiffRequest& request_;
  const ShardPicture& picture_;
  TableWriter w_;
  std::size_t name_columns_ = kNameColumns;
  std::size_t mark_columns_ = kMarkColumns;
  std::size_t cells_ = 1;
  int group_ = 1;  // ranks a cell
};

absl::StatusOr<bool> RunDiff(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(v1::Bundle a, LoadSide(env, request.a));
  PARITECT_ASSIGN_OR_RETURN(v1::Bundle b, LoadSide(env, request.b));
  std::vector<v1::Bundle> sides[2];
  sides[0].push_back(std::move(a));
  sides[1].push_back(std::move(b));
  const EvidenceSet evidence(std::move(sides[0]), std::move(sides[1]));
  const std::vector<ShardPair> pairs = MakeShardPairs(evidence);
  const std::vector<ShardPicture> pictures = MakeShardPictures(pairs);
  bool differs = false;
  std::vector<std::string> not_known;
  for (const ShardPicture& picture : pictures) {
    differs = differs || picture.differs();
    not_known.insert(not_known.end(), picture.not_known.begin(), picture.not_known.end());
  }
  if (request.json) {
    OrderedJson json;
    json["schema"] = "paritect.diff/1";
    json["kind"] = "shards";
    json["a"] = DisplayBytes(request.a);
    json["b"] = DisplayBytes(request.b);
    json["equal"] = EqualJson(differs, not_known.empty());
    json["lists"] = OrderedJson::array();
    for (const ShardPicture& picture : pictures) json["lists"].push_back(ToJson(picture, request.all));
    env.out << DumpJson(json, 1) << "\n";
  } else {
    for (const ShardPicture& picture : pictures) PicturePrinter(env, request, picture).Print();
  }
  if (differs) return false;
  if (not_known.empty()) return true;
  return absl::FailedPreconditionError(
      StrCat("what is there is equal; whether the rest is cannot be told: ", not_known[0]));
}

}  // namespace

extern const DiffKind kShardsDiff;
const DiffKind kShardsDiff = {"shards", "which rank reads which file", &RunDiff};

}  // namespace paritect
