#include "checks/dataset_explain.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"

namespace paritect {
namespace {

// Whole-content laws are asked of files up to this size (the collector's own limit is higher).
constexpr std::uint64_t kWholeContentBytesMax = 64 << 20;
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

std::optional<Explanation> ExplainText(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  if (SameUnder(baseline, migrated, "no-bom")) return Explanation{"bom", {}};
  if (SameUnder(baseline, migrated, "lf")) return Explanation{"line_ends", {}};
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

std::optional<Explanation> ExplainOtherFile(const FilePair& pair, const ExplainContext& context) {
  const v1::FileEntry& migrated = *pair.migrated->entry;
  for (const CaseCollision& collision : context.difference.collisions) {
    if (collision.survivor != pair.migrated) continue;
    const bool other_won = !migrated.md5().empty() && collision.gone->entry->md5() == migrated.md5();
    return Explanation{other_won ? "case_collision/other_survived" : "case_collision/third_content",
                       {{"other", collision.gone->path}}};
  }
  auto it = context.baseline_path_by_md5.find(migrated.md5());
  if (migrated.md5().empty() || it == context.baseline_path_by_md5.end()) return std::nullopt;
  return Explanation{"content_differs/other_file", {{"other", it->second}}};
}

}  // namespace

ContentVerdict CompareContent(const v1::FileEntry& baseline, const v1::FileEntry& migrated) {
  const bool b_data = IsDataFile(baseline) && baseline.type() != v1::FILE_TYPE_SPECIAL;
  const bool m_data = IsDataFile(migrated) && migrated.type() != v1::FILE_TYPE_SPECIAL;
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
  if (!baseline.md5().empty() && !migrated.md5().empty()) {
    return baseline.md5() == migrated.md5() ? ContentVerdict::kEqual : ContentVerdict::kDiffers;
  }
  const bool moving = HasFileHint(baseline, v1::FILE_HINT_CHANGED_WHILE_READ) ||
                      HasFileHint(migrated, v1::FILE_HINT_CHANGED_WHILE_READ);
  const bool sizes_differ =
      baseline.has_size_bytes() && migrated.has_size_bytes() && baseline.size_bytes() != migrated.size_bytes();
  return sizes_differ && !moving ? ContentVerdict::kDiffers : ContentVerdict::kUnknown;
}

std::optional<std::string> AlternateOf(const v1::FileEntry& entry, absl::string_view law) {
  for (const v1::AlternateDigest& alternate : entry.alternates()) {
    if (alternate.law() == law) return alternate.md5();
  }
  return std::nullopt;
}

ExplainContext MakeExplainContext(const DatasetDifference& difference, const DatasetView& baseline) {
  ExplainContext context = {difference, {}};
  std::set<std::string> wanted;
  for (const auto* pairs : {&difference.common, &difference.renamed}) {
    for (const FilePair& pair : *pairs) {
      const v1::FileEntry& migrated = *pair.migrated->entry;
      if (migrated.md5().empty() || IsEmpty(migrated) || migrated.md5() == pair.baseline->entry->md5()) continue;
      wanted.insert(migrated.md5());
    }
  }
  if (wanted.empty()) return context;
  for (const NamedFile& file : baseline.files) {
    if (wanted.contains(file.entry->md5())) context.baseline_path_by_md5.emplace(file.entry->md5(), file.path);
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
  if (auto why = ExplainStandIn(migrated, baseline, true)) return *why;
  if (auto why = ExplainStandIn(baseline, migrated, false)) return *why;
  if (IsEmpty(migrated) && !IsEmpty(baseline)) return {"empty_file", {}};
  if (IsEmpty(baseline) && !IsEmpty(migrated)) return {"content_differs/baseline_empty", {}};
  if (auto why = ExplainOtherFile(pair, context)) return *why;
  if (baseline.md5().empty() || migrated.md5().empty()) return {"content_differs/size_only", {}};
  if (auto why = ExplainLength(baseline, migrated)) return *why;
  if (auto why = ExplainText(baseline, migrated)) return *why;
  if (auto why = ExplainArchive(baseline, migrated)) return *why;
  const bool sizes = baseline.has_size_bytes() && migrated.has_size_bytes();
  if (sizes && baseline.size_bytes() == migrated.size_bytes()) return {"content_differs/same_size", {}};
  if (!sizes || migrated.size_bytes() > baseline.size_bytes()) return {"content_differs", {}};
  const bool asked = AlternateOf(baseline, absl::StrCat("prefix:", migrated.size_bytes())).has_value();
  return {asked ? "content_differs/shorter" : "content_differs/maybe_cut", {}};
}

ContentQuestions QuestionsFor(const FilePair& pair, const ExplainContext& context) {
  const v1::FileEntry& baseline = *pair.baseline->entry;
  const v1::FileEntry& migrated = *pair.migrated->entry;
  const std::string id = ExplainContent(pair, context).message_id;
  ContentQuestions questions;
  if (id == "lfs_pointer" && baseline.has_size_bytes() && baseline.size_bytes() == migrated.lfs_size_bytes()) {
    questions.baseline.push_back("sha256");
    return questions;
  }
  if (id == "lfs_pointer/baseline" && migrated.has_size_bytes() && migrated.size_bytes() == baseline.lfs_size_bytes()) {
    questions.migrated.push_back("sha256");
    return questions;
  }
  const bool open = id == "content_differs" || id == "content_differs/same_size" || id == "content_differs/maybe_cut";
  if (!open) return questions;
  const bool sizes = baseline.has_size_bytes() && migrated.has_size_bytes();
  if (sizes && migrated.size_bytes() < baseline.size_bytes()) {
    questions.baseline.push_back(absl::StrCat("prefix:", migrated.size_bytes()));
  } else if (sizes && baseline.size_bytes() < migrated.size_bytes()) {
    questions.migrated.push_back(absl::StrCat("prefix:", baseline.size_bytes()));
  }
  std::vector<std::string> laws = {"lf", "no-bom", "sorted-lines"};
  if (IsArchive(pair.baseline->path)) laws = {"members", "members-in-order"};
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
