#include "checks/datasets/pairs.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kRootPartsMax = 16;

bool HasHint(const v1::FileEntry& entry, v1::FileHint hint) {
  return std::find(entry.hints().begin(), entry.hints().end(), hint) != entry.hints().end();
}

bool ByPath(const NamedFile& a, const NamedFile& b) {
  return a.path() < b.path();
}

bool Contradict(const v1::FileEntry& a, const v1::FileEntry& b) {
  if (a.has_size_bytes() && b.has_size_bytes() && a.size_bytes() != b.size_bytes()) return true;
  return !a.md5().empty() && !b.md5().empty() && a.md5() != b.md5();
}

// Where the list is from; its files come when the holder's lists are all known.
void AddList(const DatasetOrigin& origin, DatasetView& view) {
  view.origins.push_back(origin);
  const v1::FileList& list = *origin.list;
  view.is_tree = view.is_tree && list.format() == "tree";
  view.incomplete = view.incomplete || list.incomplete_size() > 0;
  for (const v1::UnreadFolder& folder : list.unread_folders()) view.silent_folders.push_back(folder.path());
  if (!absl::StrContains(absl::StrCat(", ", view.where, ","), absl::StrCat(", ", origin.where, ","))) {
    absl::StrAppend(&view.where, view.where.empty() ? "" : ", ", origin.where);
  }
}

using Files = google::protobuf::RepeatedPtrField<v1::FileEntry>;

void AddFiles(const Files& files, int origin, DatasetView& view) {
  FileRows::Rows& rows = view.files.own();
  rows.reserve(rows.size() + static_cast<std::size_t>(files.size()));
  for (const v1::FileEntry& entry : files) {
    if (entry.type() == v1::FILE_TYPE_SYMLINK && entry.has_error()) view.silent_folders.push_back(entry.path());
    if (entry.type() == v1::FILE_TYPE_DIRECTORY) {
      view.empty_folders.push_back(entry.path());
    } else {
      rows.push_back({&entry.path(), &entry, origin});
    }
  }
}

// A list that one plan names beside the folder itself says what should be there; the folder says what is. So the
// folder's entry stands first, and what only the list names is not held (unless that place could not be read).
void PreferTrees(DatasetView& view) {
  const auto IsTree = [&](const NamedFile& file) {
    return view.origins[static_cast<std::size_t>(file.origin)].list->format() == "tree";
  };
  const bool trees = std::any_of(view.origins.begin(), view.origins.end(),
                                 [](const DatasetOrigin& o) { return o.list->format() == "tree"; });
  if (view.is_tree || !trees) return;
  view.is_tree = true;
  FileRows::Rows& rows = view.files.own();
  std::stable_partition(rows.begin(), rows.end(), IsTree);
  absl::flat_hash_set<absl::string_view> walked;
  for (const NamedFile& file : view.files) {
    if (IsTree(file)) walked.insert(file.entry->path());
  }
  view.files.EraseIf([&](const NamedFile& file) {
    const bool part = view.origins[static_cast<std::size_t>(file.origin)].list->part();
    return !part && !IsTree(file) && !walked.contains(file.path()) && !view.IsBelowSilent(file.path());
  });
}

// Sorts; of a path that several parts hold the first stays (one with MD5 if there is one).
void SortFiles(DatasetView& view) {
  PreferTrees(view);
  FileRows::Rows& rows = view.files.own();
  std::stable_sort(rows.begin(), rows.end(), ByPath);
  FileRows::Rows kept;
  kept.reserve(rows.size());
  for (const NamedFile& file : rows) {
    if (kept.empty() || kept.back().path() != file.path()) {
      kept.push_back(file);
      continue;
    }
    if (Contradict(*kept.back().entry, *file.entry)) view.contradictions.emplace_back(kept.back(), file);
    // A file that could not be read stays so, whatever another list states of it.
    if (kept.back().entry->md5().empty() && !kept.back().entry->has_error()) kept.back() = file;
  }
  view.files = FileRows(std::move(kept));
  std::sort(view.empty_folders.begin(), view.empty_folders.end());
}

// What one list alone makes of a view, for the next holder of the same files.
struct OneList {
  FileRows files;
  std::vector<std::string> empty_folders;
  std::vector<std::string> silent_folders;
  std::vector<std::pair<NamedFile, NamedFile>> contradictions;
};

using KnownLists = std::map<const Files*, OneList>;

// The files of all of the holder's lists. Holders of one and the same list share what was made of it.
void Unite(const EvidenceSet& evidence, KnownLists& known, DatasetView& view) {
  const bool alone = view.origins.size() == 1;
  const Files& first = evidence.FilesOf(*view.origins[0].list);
  if (const auto found = alone ? known.find(&first) : known.end(); found != known.end()) {
    view.files = found->second.files;
    view.empty_folders = found->second.empty_folders;
    view.contradictions = found->second.contradictions;
    view.silent_folders.insert(view.silent_folders.end(), found->second.silent_folders.begin(),
                               found->second.silent_folders.end());
    return;
  }
  const std::size_t silent = view.silent_folders.size();
  for (std::size_t i = 0; i < view.origins.size(); ++i) {
    AddFiles(evidence.FilesOf(*view.origins[i].list), static_cast<int>(i), view);
  }
  SortFiles(view);
  if (!alone) return;
  view.files.FindDigests();
  OneList& one = known[&first];
  one = {view.files, view.empty_folders, {}, view.contradictions};
  one.silent_folders.assign(view.silent_folders.begin() + static_cast<std::ptrdiff_t>(silent),
                            view.silent_folders.end());
}

std::size_t CommonNames(const DatasetView& a, const std::vector<std::string>& names) {
  std::size_t common = 0;
  for (const std::string& name : names) common += a.Find(name) != nullptr ? 1 : 0;
  return common;
}

std::vector<std::string> Shifted(const DatasetView& view, absl::string_view prefix, std::size_t cut) {
  std::vector<std::string> names;
  names.reserve(view.files.size());
  for (const NamedFile& file : view.files) names.push_back(absl::StrCat(prefix, file.path().substr(cut)));
  return names;
}

// Length of the folder that all names share, with its "/"; 0 if none.
std::size_t SharedFolder(const DatasetView& view) {
  if (view.files.empty()) return 0;
  const std::string& first = view.files.front().path();
  const std::string& last = view.files.back().path();  // sorted: what these share, all share
  std::size_t n = 0;
  while (n < first.size() && n < last.size() && first[n] == last[n]) ++n;
  const auto slash = absl::string_view(first).substr(0, n).rfind('/');
  return slash == absl::string_view::npos ? 0 : slash + 1;
}

void Apply(std::vector<std::string> names, DatasetView& view) {
  FileRows::Rows& rows = view.files.own();
  for (std::size_t i = 0; i < names.size(); ++i) rows[i].name = view.Keep(std::move(names[i]));
  std::sort(rows.begin(), rows.end(), ByPath);
}

// A list's root is a guess: the deepest folder of its absolute names may lie below the data set's root, and a
// list made from a folder above has that folder before every name. The shift under which most names are
// also on the other side is taken; without any gain there is none.
void AlignList(const DatasetView& other, DatasetView& view) {
  if (view.is_tree || view.files.empty() || other.files.empty()) return;
  std::vector<std::string> best;
  std::size_t best_common = CommonNames(other, Shifted(view, "", 0));
  const auto Try = [&](std::vector<std::string> names) {
    const std::size_t common = CommonNames(other, names);
    if (common <= best_common) return;
    best_common = common;
    best = std::move(names);
  };
  if (best_common * 2 > view.files.size()) return;
  const std::string root = view.origins.size() == 1 ? view.origins[0].list->root() : "";
  std::vector<std::string> parts = absl::StrSplit(root, '/', absl::SkipEmpty());
  std::string prefix;
  for (std::size_t i = 0; i < std::min(parts.size(), kRootPartsMax); ++i) {
    prefix = absl::StrCat(parts[parts.size() - 1 - i], "/", prefix);
    Try(Shifted(view, prefix, 0));
  }
  if (best_common == 0) {
    const std::string shared = view.files.front().path().substr(0, SharedFolder(view));
    for (std::size_t slash = shared.find('/'); slash != std::string::npos; slash = shared.find('/', slash + 1)) {
      Try(Shifted(view, "", slash + 1));
    }
  }
  if (!best.empty()) Apply(std::move(best), view);
}

bool IsBag(const DatasetView& view) {
  return std::all_of(view.origins.begin(), view.origins.end(),
                     [](const DatasetOrigin& o) { return o.list->format() == "manifest-bagit"; });
}

// A bag's own tag files are not in its manifest (RFC 8493, 2.2): beside one they do not count.
void DropBagTags(const DatasetView& bag, DatasetView& view) {
  if (!IsBag(bag) || IsBag(view) || view.Find("bagit.txt") == nullptr) return;
  view.files.EraseIf([&](const NamedFile& file) {
    const bool tag = file.path() == "bagit.txt" || file.path() == "bag-info.txt" || file.path() == "fetch.txt" ||
                     absl::StartsWith(file.path(), "manifest-") || absl::StartsWith(file.path(), "tagmanifest-");
    return tag && bag.Find(file.path()) == nullptr;
  });
}

bool IsChecksumName(absl::string_view name) {
  for (absl::string_view word : {"md5", "sha", "manifest", "checksum", "hash"}) {
    if (absl::StrContains(absl::AsciiStrToLower(name), word)) return true;
  }
  return false;
}

// "md5sum * > MD5SUMS" names the list itself, as it was while it was being written: that is no file of the data.
void DropOwnName(const DatasetView& other, DatasetView& view) {
  if (view.is_tree || other.files.empty()) return;
  for (const DatasetOrigin& origin : view.origins) {
    const absl::string_view own = BaseName(origin.source);
    if (!IsChecksumName(own) || other.Find(own) != nullptr) continue;
    view.files.EraseIf([&](const NamedFile& file) { return file.path() == own; });
  }
}

// A list that stands beside the data that it names is no part of it, and names not itself.
void DropListFile(const DatasetView& list, DatasetView& tree) {
  if (list.is_tree || !tree.is_tree) return;
  for (const DatasetOrigin& origin : list.origins) {
    const absl::string_view own = BaseName(origin.source);
    if (!IsChecksumName(own) || list.Find(own) != nullptr) continue;
    tree.files.EraseIf([&](const NamedFile& file) { return file.path() == own; });
  }
}

// Names that only lists have: words of digests, whole ("MD5SUMS", "train.md5", "sha256sum.txt", "checksums.txt").
bool IsListName(absl::string_view name) {
  for (absl::string_view word : absl::StrSplit(absl::AsciiStrToLower(name), absl::ByAnyChar("._- "))) {
    for (absl::string_view known : {"md5", "md5sum", "md5sums", "checksum", "checksums", "sha256", "sha256sum",
                                    "sha256sums", "sha1sum", "sha1sums", "sha1", "sha512sums"}) {
      if (word == known) return true;
    }
  }
  return false;
}

// MD5 of the list's own file, where its collector said it.
std::string OwnMd5(const v1::FileList& list) {
  for (const v1::Note& note : list.notes()) {
    if (note.kind() == "list_md5") return FromHex(note.message()).value_or("");
  }
  return "";
}

// The list lies in the set that it lists, under whatever name: a file of its very bytes is the list. And a list that
// was written into the folder while the folder was read names itself with the digest of nothing.
void DropListInSet(DatasetView& list, DatasetView& other) {
  if (list.is_tree) return;
  constexpr absl::string_view kEmptyMd5("\xD4\x1D\x8C\xD9\x8F\x00\xB2\x04\xE9\x80\x09\x98\xEC\xF8\x42\x7E", 16);
  absl::flat_hash_set<std::string> names;
  for (const DatasetOrigin& origin : list.origins) {
    const std::string own = OwnMd5(*origin.list);
    if (own.empty() || !other.is_tree) continue;
    for (const NamedFile& file : other.files) {
      if (file.entry->md5() == own) names.insert(file.path());
    }
  }
  for (const NamedFile& file : list.files) {
    const bool own = std::any_of(list.origins.begin(), list.origins.end(),
                                 [&](const DatasetOrigin& origin) { return BaseName(origin.source) == file.path(); });
    if (file.entry->md5() == kEmptyMd5 && (own || IsListName(BaseName(file.path())))) names.insert(file.path());
  }
  const auto named = [&](const NamedFile& file) { return names.contains(file.path()); };
  list.files.EraseIf(named);
  other.files.EraseIf(named);
}

// A list whose program writes every name in lower case says nothing of case: its names are those of the other side.
void AdoptCase(const DatasetView& other, DatasetView& view) {
  const bool lower = std::any_of(view.origins.begin(), view.origins.end(), [](const DatasetOrigin& origin) {
    return std::any_of(origin.list->notes().begin(), origin.list->notes().end(),
                       [](const v1::Note& note) { return note.kind() == "names_lower_case"; });
  });
  if (!lower) return;
  std::map<std::string, const std::string*> spelled;  // null: two names differ in case alone
  for (const NamedFile& file : other.files) {
    const auto [it, added] = spelled.emplace(FoldCase(file.path()), &file.path());
    if (!added) it->second = nullptr;
  }
  FileRows::Rows& rows = view.files.own();
  for (NamedFile& file : rows) {
    const auto it = spelled.find(FoldCase(file.path()));
    if (it != spelled.end() && it->second != nullptr) file.name = view.Keep(*it->second);
  }
  std::sort(rows.begin(), rows.end(), ByPath);
}

// Where a link within the set leads, as a path of the set; "" where it leads out of it.
std::string TargetInSet(const NamedFile& link, absl::string_view root) {
  absl::string_view target = link.entry->link_target();
  std::vector<absl::string_view> parts;
  if (absl::StartsWith(target, "/")) {
    if (root.empty() || !absl::ConsumePrefix(&target, root) || !absl::ConsumePrefix(&target, "/")) return "";
  } else {
    parts = absl::StrSplit(link.path(), '/');
    parts.pop_back();
  }
  for (absl::string_view part : absl::StrSplit(target, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
      continue;
    }
    if (parts.empty()) return "";
    parts.pop_back();
  }
  return absl::StrJoin(parts, "/");
}

// A link to a folder of the same set names that folder's files once more. Where the other side holds files in its
// place, they are what the link leads to.
void ExpandLinks(const DatasetView& other, DatasetView& view) {
  if (!view.is_tree) return;
  std::vector<NamedFile> below;
  for (const NamedFile& link : view.files) {
    const v1::FileEntry& entry = *link.entry;
    if (entry.type() != v1::FILE_TYPE_SYMLINK || entry.has_error() || entry.link_target().empty()) continue;
    if (HasHint(entry, v1::FILE_HINT_DANGLING_LINK) || HasHint(entry, v1::FILE_HINT_LINK_LOOP)) continue;
    const NamedFile* there = other.Find(link.path());
    if (there != nullptr && there->entry->type() == v1::FILE_TYPE_SYMLINK) continue;
    const std::string target = TargetInSet(link, view.origins[static_cast<std::size_t>(link.origin)].list->root());
    if (target.empty()) continue;
    const std::string folder = absl::StrCat(target, "/");
    auto it = std::lower_bound(view.files.begin(), view.files.end(), folder,
                               [](const NamedFile& f, const std::string& p) { return f.path() < p; });
    for (; it != view.files.end() && absl::StartsWith(it->path(), folder); ++it) {
      below.push_back(
          {view.Keep(absl::StrCat(link.path(), "/", it->path().substr(folder.size()))), it->entry, it->origin});
    }
  }
  if (below.empty()) return;
  FileRows::Rows& rows = view.files.own();
  rows.insert(rows.end(), below.begin(), below.end());
  std::sort(rows.begin(), rows.end(), ByPath);
}

// The last line of a list has no line end and its name is not on the other side: probably cut.
void DropCutName(const DatasetView& other, DatasetView& view) {
  const std::size_t before = view.files.size();
  view.files.EraseIf([&](const NamedFile& file) {
    return HasHint(*file.entry, v1::FILE_HINT_LAST_LINE_OPEN) && other.Find(file.path()) == nullptr;
  });
  view.incomplete = view.incomplete || view.files.size() != before;
}

// A node that holds a part beside a node that holds the whole set: the whole speaks for the side, and the part is held
// against it for what it names. One part alone is not the side's data set: the others were not shown.
void SettleParts(DatasetSet& set) {
  const auto IsPart = [](const DatasetView& view) {
    return std::all_of(view.origins.begin(), view.origins.end(),
                       [](const DatasetOrigin& origin) { return origin.list->part(); });
  };
  for (DatasetView& view : set.views) {
    if (!IsPart(view)) continue;
    view.beside_whole = std::any_of(set.views.begin(), set.views.end(),
                                    [&](const DatasetView& other) { return !IsPart(other) && other.run == view.run; });
    view.lone_part = view.origins.size() == 1 && !view.beside_whole;
  }
  std::stable_partition(set.views.begin(), set.views.end(), [](const DatasetView& v) { return !v.beside_whole; });
}

// Whether one of the two views can stand for both. What one of them could not see, the other does not answer for.
bool AreAlike(const DatasetView& a, const DatasetView& b) {
  return a.is_tree == b.is_tree && a.incomplete == b.incomplete && a.beside_whole == b.beside_whole &&
         a.lone_part == b.lone_part && a.silent_folders == b.silent_folders && SameFiles(a, b);
}

// Whether two lists say the same beside their files, so that fitting the other side to one of them fits the other too.
bool AreOneList(const DatasetView& a, const DatasetView& b) {
  if (a.origins.size() != 1 || b.origins.size() != 1 || !a.files.IsSharedWith(b.files)) return false;
  const v1::FileList& x = *a.origins[0].list;
  const v1::FileList& y = *b.origins[0].list;
  return a.origins[0].source == b.origins[0].source && x.root() == y.root() && x.format() == y.format() &&
         x.part() == y.part() && OwnMd5(x) == OwnMd5(y);
}

// Of views that `same` calls equal the first, with the places of all.
template <typename Same>
std::vector<DatasetView> Distinct(std::vector<DatasetView> views, Same same_views) {
  std::vector<DatasetView> out;
  for (DatasetView& view : views) {
    auto same = std::find_if(out.begin(), out.end(), [&](const DatasetView& known) { return same_views(known, view); });
    if (same == out.end()) {
      out.push_back(std::move(view));
    } else if (same->where != view.where) {
      absl::StrAppend(&same->where, ", ", view.where);
    }
  }
  return out;
}

// A part of the data set, or another source of the same plan, that could not be collected: what the rest does not
// name may stand there.
void MarkLostParts(const std::vector<v1::Bundle>& bundles, std::map<std::string, DatasetSet>& sets) {
  for (int b = 0; b < static_cast<int>(bundles.size()); ++b) {
    const v1::Bundle& bundle = bundles[static_cast<std::size_t>(b)];
    for (const v1::Evidence& one : bundle.evidence()) {
      if (one.kind() != v1::EVIDENCE_KIND_DATASET_FILES || one.outcome() == v1::OUTCOME_COLLECTED) continue;
      auto set = sets.find(one.subject());
      if (set == sets.end()) continue;
      for (DatasetView& view : set->second.views) {
        const bool same_plan = view.origins.back().bundle == b;
        const bool part = view.origins[0].list->part() && view.run == bundle.plan().run();
        if (same_plan || part) view.silent_folders.emplace_back();
      }
    }
  }
}

// Two folders of one plan under one name, not all marked as parts: what the node trains on is not clear.
bool AreRivals(const DatasetView& view) {
  int trees = 0;
  bool all_parts = true;
  for (const DatasetOrigin& origin : view.origins) {
    if (origin.list->format() != "tree") continue;
    ++trees;
    all_parts = all_parts && origin.list->part();
  }
  return trees > 1 && !all_parts;
}

}  // namespace

void ReportIncomplete(const CheckContext& context, const DatasetView& view, v1::CheckResult& result) {
  for (const DatasetOrigin& origin : view.origins) {
    for (const v1::Problem& problem : origin.list->incomplete()) AddMissing(context, result, problem, origin.where);
    for (const v1::UnreadFolder& folder : origin.list->unread_folders()) {
      AddMissing(context, result, folder.problem(), origin.where);
    }
    if (origin.list->incomplete_size() == 0 && view.incomplete && origin.list->format() != "tree") {
      AddMissing(context, result, "manifest_last_line_open", origin.where, {{"source", origin.source}});
    }
  }
  const std::string dataset = DisplayBytes(view.origins[0].list->dataset());
  if (AreRivals(view)) {
    std::vector<std::string> folders;
    for (const DatasetOrigin& origin : view.origins) folders.push_back(DisplayBytes(origin.source));
    AddMissing(context, result, "dataset_two_folders", view.where,
               {{"dataset", dataset}, {"folders", absl::StrJoin(folders, ", ")}});
  }
  if (view.lone_part) AddMissing(context, result, "dataset_lone_part", view.where, {{"dataset", dataset}});
}

void ReportUnseenFiles(const CheckContext& context, const DatasetView& view, v1::CheckResult& result) {
  constexpr std::int64_t kShown = 20;
  std::int64_t unseen = 0;
  for (const NamedFile& file : view.files) {
    if (!file.entry->has_error()) continue;
    if (++unseen <= kShown) AddMissing(context, result, file.entry->error(), view.where);
  }
  if (unseen <= kShown) return;
  AddMissing(context, result, "more_without_digest", view.where,
             {{"count", absl::StrCat(unseen - kShown)}, {"dataset", DisplayBytes(view.origins[0].list->dataset())}});
}

bool IsNamesOnly(const v1::FileList& list) {
  return std::any_of(list.notes().begin(), list.notes().end(),
                     [](const v1::Note& note) { return note.kind() == "not_hashed"; });
}

const NamedFile* DatasetView::Find(absl::string_view path) const {
  auto it = std::lower_bound(files.begin(), files.end(), path,
                             [](const NamedFile& file, absl::string_view p) { return file.path() < p; });
  return it != files.end() && it->path() == path ? &*it : nullptr;
}

bool DatasetView::IsSilentOn(absl::string_view path) const {
  return incomplete || beside_whole || lone_part || IsBelowSilent(path);
}

bool DatasetView::IsBelowSilent(absl::string_view path) const {
  for (const std::string& folder : silent_folders) {
    if (folder.empty() || absl::StartsWith(path, absl::StrCat(folder, "/"))) return true;
  }
  return false;
}

std::vector<DatasetSet> DatasetsOf(const EvidenceSet& evidence, Side side) {
  std::map<std::string, DatasetSet> sets;
  const std::vector<v1::Bundle>& bundles = evidence.bundles(side);
  for (int b = 0; b < static_cast<int>(bundles.size()); ++b) {
    const v1::Bundle& bundle = bundles[static_cast<std::size_t>(b)];
    if (RoleOf(bundle) != v1::ROLE_RUN) continue;
    for (int e = 0; e < bundle.evidence_size(); ++e) {
      const v1::Evidence& one = bundle.evidence(e);
      if (one.kind() != v1::EVIDENCE_KIND_DATASET_FILES || one.outcome() != v1::OUTCOME_COLLECTED) continue;
      DatasetSet& set = sets[one.files().dataset()];
      set.name = one.files().dataset();
      DatasetView* holder = nullptr;
      for (DatasetView& view : set.views) {
        const bool same_plan = view.origins.back().bundle == b;
        const bool parts = one.files().part() && view.origins[0].list->part() && view.run == bundle.plan().run();
        if (same_plan || parts) holder = &view;
      }
      if (holder == nullptr) {
        set.views.emplace_back();
        holder = &set.views.back();
        holder->run = bundle.plan().run();
      }
      AddList({side, b, e, WhereFrom(bundle, one), one.source(), &one.files()}, *holder);
    }
  }
  MarkLostParts(bundles, sets);
  std::vector<DatasetSet> out;
  KnownLists known;
  for (auto& [name, set] : sets) {
    for (DatasetView& view : set.views) Unite(evidence, known, view);
    SettleParts(set);
    out.push_back(std::move(set));
  }
  return out;
}

const std::vector<DatasetSet>& DatasetsOf(const CheckContext& context, Side side) {
  static constexpr char kSides[2] = {};  // an address for each
  return context.views->Get<std::vector<DatasetSet>>({&kSides[side == Side::kBaseline ? 0 : 1]},
                                                     [&] { return DatasetsOf(context.evidence, side); });
}

const std::vector<DatasetPair>& PairDatasets(const CheckContext& context) {
  return context.views->Get<std::vector<DatasetPair>>({}, [&] { return PairDatasets(context.evidence); });
}

std::vector<DatasetPair> PairDatasets(const EvidenceSet& evidence) {
  std::vector<DatasetSet> baseline = DatasetsOf(evidence, Side::kBaseline);
  std::vector<DatasetSet> migrated = DatasetsOf(evidence, Side::kMigrated);
  std::vector<DatasetPair> pairs;
  for (DatasetSet& set : baseline) pairs.push_back({set.name, {std::move(set.views.front())}, {}});
  for (DatasetSet& set : migrated) {
    auto it = std::find_if(pairs.begin(), pairs.end(), [&](const DatasetPair& p) { return p.name == set.name; });
    if (it == pairs.end()) {
      pairs.push_back({set.name, {}, std::move(set.views)});
      continue;
    }
    // Before names are fitted, which takes its time for each: a thousand nodes may hold one list.
    set.views =
        Distinct(std::move(set.views), [](const auto& a, const auto& b) { return AreOneList(a, b) && AreAlike(a, b); });
    DatasetView& reference = it->baseline[0];
    AlignList(set.views.front(), reference);
    AdoptCase(set.views.front(), reference);
    for (DatasetView& view : set.views) {
      AlignList(reference, view);
      AdoptCase(reference, view);
      DropBagTags(reference, view);
      DropCutName(reference, view);
      DropOwnName(reference, view);
      DropListFile(reference, view);
      DropListInSet(reference, view);
      DropListInSet(view, reference);
      ExpandLinks(reference, view);
    }
    DropBagTags(set.views.front(), reference);
    DropCutName(set.views.front(), reference);
    DropOwnName(set.views.front(), reference);
    DropListFile(set.views.front(), reference);
    ExpandLinks(set.views.front(), reference);
    it->migrated = Distinct(std::move(set.views), AreAlike);
  }
  std::sort(pairs.begin(), pairs.end(), [](const DatasetPair& a, const DatasetPair& b) { return a.name < b.name; });
  return pairs;
}

namespace {

// The plans name the set and it could not be read: that is what is missing, not its name.
bool ReportUnread(const CheckContext& context, Side side, const std::string& name, v1::CheckResult& result) {
  bool named = false;
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_DATASET_FILES, [&](const v1::Bundle& b, const v1::Evidence& e) {
    if (e.subject() != name || e.outcome() == v1::OUTCOME_COLLECTED) return;
    named = true;
    AddMissing(context, result, e.problem(), WhereFrom(b, e));
  });
  return named;
}

}  // namespace

bool RequirePair(const CheckContext& context, const DatasetPair& pair, v1::CheckResult& result) {
  for (const DatasetView& view : pair.baseline) ReportIncomplete(context, view, result);
  for (const DatasetView& view : pair.migrated) ReportIncomplete(context, view, result);
  if (pair.baseline.empty() || pair.migrated.empty()) {
    const Side side = pair.baseline.empty() ? Side::kBaseline : Side::kMigrated;
    if (ReportUnread(context, side, pair.name, result)) return false;
    AddMissing(context, result, absl::StrCat("dataset_without_partner/", SideName(side)), SideName(side),
               {{"dataset", pair.name}});
    return false;
  }
  for (const DatasetView& view : pair.migrated) {
    if (pair.baseline[0].files.empty() && view.files.empty()) {
      AddMissing(context, result, "dataset_empty", absl::StrCat(pair.baseline[0].where, ", ", view.where),
                 {{"dataset", pair.name}});
    }
  }
  return true;
}

bool SameFiles(const DatasetView& a, const DatasetView& b) {
  if (a.files.IsSharedWith(b.files) && a.files.all_have_digests()) return a.empty_folders == b.empty_folders;
  return a.empty_folders == b.empty_folders &&
         std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(),
                    [](const NamedFile& x, const NamedFile& y) {
                      return x.path() == y.path() && x.entry->md5() == y.entry->md5() && !x.entry->md5().empty() &&
                             x.entry->size_bytes() == y.entry->size_bytes();
                    });
}

}  // namespace paritect
