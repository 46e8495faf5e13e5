#include "checks/datasets/explain.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/datasets/states.h"
#include "common/digest.h"
#include "common/little_endian.h"

namespace paritect {
namespace {

// Whole-content laws are asked of files up to this size (the collector's own limit is higher).
constexpr std::uint64_t kWholeContentBytesMax = 64 << 20;
// A zero tail shorter than a disk's block is no sign of a torn write.
constexpr std::uint64_t kZeroTailBytesMin = 512;
constexpr std::uint64_t kBlockBytesMin = 4096;
constexpr std::uint64_t kBlocksMax = 256;
constexpr std::uint64_t kStateBlockBytes = 4 << 20;  // of all but huge files
constexpr std::size_t kMd5Bytes = 16;
constexpr absl::string_view kEmptyMd5Hex = "d41d8cd98f00b204e9800998ecf8427e";

bool IsArchive(absl::string_view path) {
  const std::string name = absl::AsciiStrToLower(path);
  for (absl::string_view ending : {".tar", ".tgz", ".tar.gz", ".zip", ".npz"}) {
    if (absl::EndsWith(name, ending)) return true;
  }
  return false;
}

bool IsEmpty(const v1::FileEntry& entry) {
  if (entry.has_size_bytes()) return entry.size_bytes() == 0 && !entry.has_error();
  return ToHex(entry.md5()) == kEmptyMd5Hex;
}

// The content's digest under a law that leaves files without its subject as they are ("lf" of a file without
// CR is the file itself): what is known of it.
std::optional<std::string> UnderLaw(const v1::FileEntry& entry, absl::string_view law) {
  auto alternate = AlternateOf(entry, law);
  if (alternate && alternate->empty()) return std::nullopt;
  return alternate;
}

bool SameUnder(const v1::FileEntry& a, const v1::FileEntry& b, absl::string_view law) {
  const auto x = UnderLaw(a, law);
  const auto y = UnderLaw(b, law);
  // One side's transformed content may be the other's plain content.
  if (x && y) return *x == *y;
  if (x) return *x == b.md5();
  return y && *y == a.md5();
}

std::optional<Explanation> ExplainTwoPointers(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  const bool both =
      HasFileHint(baseline, v1::FILE_HINT_LFS_POINTER) && HasFileHint(migrated, v1::FILE_HINT_LFS_POINTER);
  if (!both || baseline.lfs_oid_sha256() == migrated.lfs_oid_sha256()) return std::nullopt;
  return Explanation{"lfs_pointer/two_oids",
                     {{"oid", ToHex(baseline.lfs_oid_sha256())}, {"other", ToHex(migrated.lfs_oid_sha256())}}};
}

std::optional<Explanation> ExplainStandIn(const v1::FileEntry& file, const v1::FileEntry& other, bool migrated) {
  const std::string suffix = migrated ? "" : "/baseline";
  if (HasFileHint(file, v1::FILE_HINT_LFS_POINTER) && !HasFileHint(other, v1::FILE_HINT_LFS_POINTER)) {
    const auto sha256 = AlternateOf(other, "sha256");
    const bool same_size = other.has_size_bytes() && other.size_bytes() == file.lfs_size_bytes();
    if (sha256 && *sha256 == file.lfs_oid_sha256()) {
      return Explanation{absl::StrCat("lfs_pointer", suffix, "/same_oid"), {{"oid", ToHex(file.lfs_oid_sha256())}}};
    }
    if (sha256 || (other.has_size_bytes() && !same_size)) {
      return Explanation{absl::StrCat("lfs_pointer", suffix, "/other_oid"), {{"oid", ToHex(file.lfs_oid_sha256())}}};
    }
    return Explanation{absl::StrCat("lfs_pointer", suffix), {{"oid", ToHex(file.lfs_oid_sha256())}}};
  }
  const std::pair<v1::FileHint, const char*> kinds[] = {{v1::FILE_HINT_LFS_POINTER_DAMAGED, "lfs_pointer_damaged"},
                                                        {v1::FILE_HINT_HTML_PAGE, "html_page"},
                                                        {v1::FILE_HINT_EMPTY_ARCHIVE, "empty_archive"}};
  for (const auto& [hint, kind] : kinds) {
    if (HasFileHint(file, hint) && !HasFileHint(other, hint)) return Explanation{absl::StrCat(kind, suffix), {}};
  }
  return std::nullopt;
}

std::optional<Explanation> ExplainLength(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  if (!baseline.has_size_bytes() || !migrated.has_size_bytes()) return std::nullopt;
  const std::uint64_t b = baseline.size_bytes();
  const std::uint64_t m = migrated.size_bytes();
  if (m < b && AlternateOf(baseline, absl::StrCat("prefix:", m)) == migrated.md5()) {
    return Explanation{"truncated", {{"at", absl::StrCat(m)}, {"size", absl::StrCat(b)}}};
  }
  if (b < m && AlternateOf(migrated, absl::StrCat("prefix:", b)) == baseline.md5()) {
    return Explanation{"content_differs/longer", {{"at", absl::StrCat(b)}, {"more", absl::StrCat(m - b)}}};
  }
  return std::nullopt;
}

Explanation ExplainPrefix(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  const std::uint64_t b = baseline.size_bytes();
  const std::uint64_t m = migrated.size_bytes();
  if (m < b) return {"truncated", {{"at", absl::StrCat(m)}, {"size", absl::StrCat(b)}}};
  return {"content_differs/longer", {{"at", absl::StrCat(b)}, {"more", absl::StrCat(m - b)}}};
}

Explanation ExplainFirstState(const StatesVerdict& states, const v1::FileEntry& baseline,
                              const v1::FileEntry& migrated) {
  const MessageArgs args = {{"at", absl::StrCat(states.equal_until)}, {"end", absl::StrCat(states.differs_by)}};
  if (states.differs_by < std::min(baseline.size_bytes(), migrated.size_bytes())) {
    return {"content_differs/first_state", args};
  }
  // Up to the last state they are equal: what differs may begin where the shorter one ends.
  if (baseline.size_bytes() == migrated.size_bytes()) return {"content_differs/first_state", args};
  return {migrated.size_bytes() < baseline.size_bytes() ? "content_differs/shorter_states"
                                                        : "content_differs/longer_states",
          args};
}

// A byte order mark is there where the content without it is another.
bool HasMark(const v1::FileEntry& entry) {
  const auto without = UnderLaw(entry, "no-bom");
  return without && !entry.md5().empty() && *without != entry.md5();
}

std::optional<Explanation> ExplainText(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  if (SameUnder(baseline, migrated, "no-bom")) return Explanation{"bom", {}};
  if (SameUnder(baseline, migrated, "lf")) {
    const bool mark = HasMark(migrated);
    if (mark == HasMark(baseline)) return Explanation{"line_ends", {}};
    return Explanation{mark ? "line_ends/mark" : "line_ends/mark_of_baseline", {}};
  }
  if (SameUnder(baseline, migrated, "sorted-lines")) return Explanation{"lines_reordered", {}};
  return std::nullopt;
}

std::optional<Explanation> ExplainArchive(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  const auto b = UnderLaw(baseline, "members");
  const auto m = UnderLaw(migrated, "members");
  if (!b || !m || *b != *m) return std::nullopt;
  const bool same_order = UnderLaw(baseline, "members-in-order") == UnderLaw(migrated, "members-in-order");
  return Explanation{same_order ? "content_differs/archive_headers" : "members_reordered", {}};
}

// Where the zeros at the end begin; nullopt: not asked.
std::optional<std::uint64_t> ZerosFrom(const v1::FileEntry& entry) {
  const auto answer = AlternateOf(entry, "zeros");
  if (!answer || answer->size() != 8) return std::nullopt;
  return LittleEndian(*answer, 0, 8);
}

std::optional<Explanation> ExplainZeroTail(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  const auto b = ZerosFrom(baseline);
  const auto m = ZerosFrom(migrated);
  if (!b || !m || baseline.size_bytes() != migrated.size_bytes()) return std::nullopt;
  const std::uint64_t size = baseline.size_bytes();
  const std::uint64_t from = std::min(*b, *m);
  if (from > size || size - from < kZeroTailBytesMin || std::max(*b, *m) - from < kZeroTailBytesMin)
    return std::nullopt;
  return Explanation{*m < *b ? "content_differs/zero_tail" : "content_differs/zero_tail_baseline",
                     {{"at", absl::StrCat(from)}, {"count", absl::StrCat(size - from)}}};
}

std::uint64_t BlockBytesFor(std::uint64_t size) {
  const std::uint64_t even = (size + kBlocksMax - 1) / kBlocksMax;
  return std::max(kBlockBytesMin, (even + kBlockBytesMin - 1) / kBlockBytesMin * kBlockBytesMin);
}

// The same blocks asked of both sides: the first that differs.
std::optional<Explanation> ExplainBlocks(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  if (!baseline.has_size_bytes() || !migrated.has_size_bytes()) return std::nullopt;
  const std::uint64_t common = std::min<std::uint64_t>(baseline.size_bytes(), migrated.size_bytes());
  const std::uint64_t block = BlockBytesFor(common);
  const std::string law = absl::StrCat("blocks:", block);
  const auto b = AlternateOf(baseline, law);
  const auto m = AlternateOf(migrated, law);
  if (!b || !m) return std::nullopt;
  const std::size_t blocks = std::min(b->size(), m->size()) / kMd5Bytes;
  std::size_t first = blocks;
  std::size_t differing = 0;
  for (std::size_t i = blocks; i > 0; --i) {
    if (b->compare((i - 1) * kMd5Bytes, kMd5Bytes, *m, (i - 1) * kMd5Bytes, kMd5Bytes) == 0) continue;
    first = i - 1;
    ++differing;
  }
  // Of a file that is one block there is nothing to tell.
  if (first == blocks || blocks < 2) return std::nullopt;
  return Explanation{"content_differs/first_block",
                     {{"at", absl::StrCat(first * block)},
                      {"end", absl::StrCat(std::min<std::uint64_t>(common, (first + 1) * block))},
                      {"count", absl::StrCat(differing)},
                      {"blocks", absl::StrCat(blocks)}}};
}

std::optional<Explanation> ExplainOtherFile(const FilePair& pair, const ExplainContext& context) {
  const v1::FileEntry& migrated = *pair.migrated->entry;
  for (const CaseCollision& collision : context.difference.collisions) {
    if (collision.survivor != pair.migrated) continue;
    const bool other_won = !migrated.md5().empty() && collision.gone->entry->md5() == migrated.md5();
    return Explanation{other_won ? "case_collision/other_survived" : "case_collision/third_content",
                       {{"other", collision.gone->path()}}};
  }
  auto it = context.baseline_path_by_md5.find(migrated.md5());
  if (migrated.md5().empty() || it == context.baseline_path_by_md5.end()) return std::nullopt;
  return Explanation{"content_differs/other_file", {{"other", it->second}}};
}

}  // namespace

ContentVerdict CompareContent(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  const bool b_data = IsDataFile(baseline) && baseline.type() != v1::FILE_TYPE_SPECIAL;
  const bool m_data = IsDataFile(migrated) && migrated.type() != v1::FILE_TYPE_SPECIAL;
  // A list that states links: the same target is the same link, whatever stands at its other end.
  const bool link = baseline.type() == v1::FILE_TYPE_SYMLINK || migrated.type() == v1::FILE_TYPE_SYMLINK;
  const bool stated =
      !baseline.has_error() && !migrated.has_error() &&
      HasFileHint(baseline, v1::FILE_HINT_DANGLING_LINK) != HasFileHint(migrated, v1::FILE_HINT_DANGLING_LINK);
  const bool same_target = !baseline.link_target().empty() && baseline.link_target() == migrated.link_target();
  if (link && same_target && (stated || b_data != m_data)) return ContentVerdict::kEqual;
  if (!b_data && !m_data) {
    const bool unseen = baseline.has_error() || migrated.has_error() ||
                        HasFileHint(baseline, v1::FILE_HINT_DANGLING_LINK) ||
                        HasFileHint(migrated, v1::FILE_HINT_DANGLING_LINK);
    return unseen ? ContentVerdict::kUnknown : ContentVerdict::kEqual;
  }
  // A dangling link against a file is a matter of the names; the file check reports it.
  if (b_data != m_data) {
    const v1::FileEntry& other = b_data ? migrated : baseline;
    return HasFileHint(other, v1::FILE_HINT_DANGLING_LINK) || other.has_error() ? ContentVerdict::kUnknown
                                                                                : ContentVerdict::kDiffers;
  }
  const bool sizes_differ =
      baseline.has_size_bytes() && migrated.has_size_bytes() && baseline.size_bytes() != migrated.size_bytes();
  if (!baseline.md5().empty() && !migrated.md5().empty()) {
    // One MD5 and two sizes: at least one list was not made from the file that it names.
    return baseline.md5() == migrated.md5() && !sizes_differ ? ContentVerdict::kEqual : ContentVerdict::kDiffers;
  }
  // A list may state SHA-256 alone; the other side is then asked for it.
  const auto b_sha256 = AlternateOf(baseline, "sha256");
  const auto m_sha256 = AlternateOf(migrated, "sha256");
  if (b_sha256 && m_sha256 && !b_sha256->empty() && !m_sha256->empty()) {
    return *b_sha256 == *m_sha256 && !sizes_differ ? ContentVerdict::kEqual : ContentVerdict::kDiffers;
  }
  // CRC-32 shows damage; that it agrees proves nothing.
  const auto b_crc = AlternateOf(baseline, "crc32");
  const auto m_crc = AlternateOf(migrated, "crc32");
  if (b_crc && m_crc && *b_crc != *m_crc) return ContentVerdict::kDiffers;
  const bool moving = HasFileHint(baseline, v1::FILE_HINT_CHANGED_WHILE_READ) ||
                      HasFileHint(migrated, v1::FILE_HINT_CHANGED_WHILE_READ);
  return sizes_differ && !moving ? ContentVerdict::kDiffers : ContentVerdict::kUnknown;
}

std::optional<std::string> AlternateOf(const v1::FileEntry& entry, absl::string_view law) {
  for (const v1::AlternateDigest& alternate : entry.alternates()) {
    if (alternate.law() == law) return alternate.md5();
  }
  return std::nullopt;
}

ExplainContext MakeExplainContext(const DatasetDifference& difference, const DatasetView& baseline,
                                  const DatasetView& migrated) {
  ExplainContext context = {difference, baseline, migrated, {}};
  std::set<std::string> wanted;
  for (const auto* pairs : {&difference.common, &difference.renamed}) {
    for (const FilePair& pair : *pairs) {
      const v1::FileEntry& entry = *pair.migrated->entry;
      if (entry.md5().empty() || IsEmpty(entry) || entry.md5() == pair.baseline->entry->md5()) continue;
      wanted.insert(entry.md5());
    }
  }
  if (wanted.empty()) return context;
  for (const NamedFile& file : baseline.files) {
    if (wanted.contains(file.entry->md5())) context.baseline_path_by_md5.emplace(file.entry->md5(), file.path());
  }
  return context;
}

Explanation ExplainContent(const FilePair& pair, const ExplainContext& context) {
  const v1::FileEntry& baseline = *pair.baseline->entry;
  const v1::FileEntry& migrated = *pair.migrated->entry;
  if (IsDataFile(baseline) != IsDataFile(migrated) || baseline.type() == v1::FILE_TYPE_SPECIAL ||
      migrated.type() == v1::FILE_TYPE_SPECIAL) {
    return {"content_differs/type", {}};
  }
  if (!baseline.md5().empty() && baseline.md5() == migrated.md5()) return {"content_differs/size_contradicts", {}};
  if (auto why = ExplainTwoPointers(baseline, migrated)) return *why;
  if (auto why = ExplainStandIn(migrated, baseline, true)) return *why;
  if (auto why = ExplainStandIn(baseline, migrated, false)) return *why;
  if (IsEmpty(migrated) && !IsEmpty(baseline)) return {"empty_file", {}};
  if (IsEmpty(baseline) && !IsEmpty(migrated)) return {"content_differs/baseline_empty", {}};
  if (auto why = ExplainOtherFile(pair, context)) return *why;
  if (baseline.md5().empty() || migrated.md5().empty()) {
    const bool sizes_equal =
        baseline.has_size_bytes() && migrated.has_size_bytes() && baseline.size_bytes() == migrated.size_bytes();
    const bool by_size = baseline.has_size_bytes() && migrated.has_size_bytes() && !sizes_equal;
    return {by_size ? "content_differs/size_only" : "content_differs/other_digest", {}};
  }
  if (auto why = ExplainLength(baseline, migrated)) return *why;
  const auto states = CompareStates(context.baseline, *pair.baseline, context.migrated, *pair.migrated);
  if (states && states->prefix) return ExplainPrefix(baseline, migrated);
  if (auto why = ExplainText(baseline, migrated)) return *why;
  if (auto why = ExplainArchive(baseline, migrated)) return *why;
  // An archive ends in zeros of its own.
  const bool archive = IsArchive(pair.baseline->path());
  if (auto why = ExplainZeroTail(baseline, migrated); why && !archive) return *why;
  if (auto why = ExplainBlocks(baseline, migrated)) return *why;
  if (states) return ExplainFirstState(*states, baseline, migrated);
  const bool sizes = baseline.has_size_bytes() && migrated.has_size_bytes();
  if (sizes && baseline.size_bytes() == migrated.size_bytes()) return {"content_differs/same_size", {}};
  if (!sizes || migrated.size_bytes() > baseline.size_bytes()) return {"content_differs", {}};
  const bool asked = AlternateOf(baseline, absl::StrCat("prefix:", migrated.size_bytes())).has_value();
  return {asked ? "content_differs/shorter" : "content_differs/maybe_cut", {}};
}

namespace {

// Where they begin to differ, and whether one ends in zeros: read together with what else is asked.
void AskBlocks(const v1::FileEntry& baseline, const v1::FileEntry& migrated, ContentQuestions& questions) {
  const std::uint64_t common = std::min<std::uint64_t>(baseline.size_bytes(), migrated.size_bytes());
  const std::string law = absl::StrCat("blocks:", BlockBytesFor(common));
  for (auto* laws : {&questions.baseline, &questions.migrated}) {
    laws->push_back(law);
    if (baseline.size_bytes() == migrated.size_bytes()) laws->push_back("zeros");
  }
}

}  // namespace

ContentQuestions QuestionsFor(const FilePair& pair, const ExplainContext& context) {
  const v1::FileEntry& baseline = *pair.baseline->entry;
  const v1::FileEntry& migrated = *pair.migrated->entry;
  const std::string id = ExplainContent(pair, context).message_id;
  ContentQuestions questions;
  if (CompareContent(baseline, migrated) == ContentVerdict::kUnknown) {
    for (const char* law : {"sha256", "crc32"}) {
      const bool b = AlternateOf(baseline, law).has_value();
      const bool m = AlternateOf(migrated, law).has_value();
      if (b && !m) questions.migrated.emplace_back(law);
      if (m && !b) questions.baseline.emplace_back(law);
    }
    return questions;
  }
  if (id == "lfs_pointer" && baseline.has_size_bytes() && baseline.size_bytes() == migrated.lfs_size_bytes()) {
    questions.baseline.push_back("sha256");
    return questions;
  }
  if (id == "lfs_pointer/baseline" && migrated.has_size_bytes() && migrated.size_bytes() == baseline.lfs_size_bytes()) {
    questions.migrated.push_back("sha256");
    return questions;
  }
  // What the saved states tell of a large file, its blocks tell no closer: no file is read for that.
  if (id == "content_differs/first_state" &&
      BlockBytesFor(std::min<std::uint64_t>(baseline.size_bytes(), migrated.size_bytes())) >= kStateBlockBytes / 4) {
    return questions;
  }
  const bool open = id == "content_differs" || id == "content_differs/first_state" ||
                    id == "content_differs/shorter_states" || id == "content_differs/longer_states" ||
                    id == "content_differs/same_size" || id == "content_differs/maybe_cut";
  if (!open) return questions;
  const bool sizes = baseline.has_size_bytes() && migrated.has_size_bytes();
  if (sizes && migrated.size_bytes() < baseline.size_bytes()) {
    questions.baseline.push_back(absl::StrCat("prefix:", migrated.size_bytes()));
  } else if (sizes && baseline.size_bytes() < migrated.size_bytes()) {
    questions.migrated.push_back(absl::StrCat("prefix:", baseline.size_bytes()));
  }
  if (sizes) AskBlocks(baseline, migrated, questions);
  std::vector<std::string> laws = {"lf", "no-bom", "sorted-lines"};
  if (IsArchive(pair.baseline->path())) laws = {"members", "members-in-order"};
  for (const std::string& law : laws) {
    const auto Small = [](const v1::FileEntry& e) {
      return e.has_size_bytes() && e.size_bytes() <= kWholeContentBytesMax;
    };
    if (Small(baseline) && !AlternateOf(baseline, law)) questions.baseline.push_back(law);
    if (Small(migrated) && !AlternateOf(migrated, law)) questions.migrated.push_back(law);
  }
  return questions;
}

}  // namespace paritect
