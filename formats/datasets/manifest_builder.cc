#include "formats/datasets/manifest_builder.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr int kBadLinesShown = 5;
constexpr std::size_t kTextShown = 60;
constexpr std::size_t kPathBytesMax = 64 << 10;

bool IsDriveRoot(absl::string_view path) {
  return path.size() >= 3 && absl::ascii_isalpha(static_cast<unsigned char>(path[0])) && path[1] == ':' &&
         path[2] == '/';
}

bool IsAbsolute(absl::string_view path) {
  return absl::StartsWith(path, "/") || IsDriveRoot(path);
}

// "obs://bucket/a" as "/bucket/a": names in a store are absolute.
constexpr std::size_t kSchemeBytesMax = 16;
std::size_t SchemeBytes(absl::string_view path) {
  const auto end = path.substr(0, kSchemeBytesMax + 3).find("://");
  if (end == absl::string_view::npos || end == 0) return 0;
  for (const char c : path.substr(0, end)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') return 0;
  }
  return end + 2;
}

void Tidy(std::string& path) {
  std::string out;
  out.reserve(path.size());
  for (char c : path) {
    if (c == '/' && !out.empty() && out.back() == '/') continue;
    out.push_back(c);
  }
  absl::string_view rest = out;
  while (absl::ConsumePrefix(&rest, "./")) {
  }
  path = std::string(rest);
}

// The deepest folder that all names stand below, with its last "/".
std::string CommonFolder(const std::vector<RawName>& names) {
  absl::string_view common = *names[0].text;
  for (const RawName& raw : names) {
    const std::string* name = raw.text;
    std::size_t n = 0;
    while (n < common.size() && n < name->size() && common[n] == (*name)[n]) ++n;
    common = common.substr(0, n);
  }
  const auto slash = common.rfind('/');
  return slash == absl::string_view::npos ? "" : std::string(common.substr(0, slash + 1));
}

}  // namespace

void UnifyNames(const std::vector<RawName>& names, std::string& root) {
  if (names.empty()) return;
  const bool any_slash =
      std::any_of(names.begin(), names.end(), [](const RawName& n) { return absl::StrContains(*n.text, "/"); });
  for (const RawName& name : names) {
    if (!any_slash && !name.exact) absl::StrReplaceAll({{"\\", "/"}}, name.text);
    Tidy(*name.text);
  }
  if (!std::all_of(names.begin(), names.end(), [](const RawName& n) { return IsAbsolute(*n.text); })) return;
  root = CommonFolder(names);
  for (const RawName& name : names) name.text->erase(0, root.size());
  if (root.size() > 1) root.pop_back();
}

bool SetDigest(absl::string_view hex, ManifestFile& file) {
  auto raw = FromHex(hex);
  if (!raw) return false;
  switch (raw->size()) {
    case 16: file.md5 = *raw; return true;
    case 32: file.sha256 = *raw; return true;
    case 20:
    case 28:
    case 48:
    case 64: return true;
    default: return false;
  }
}

bool SetEtag(absl::string_view etag, ManifestFile& file) {
  etag = absl::StripAsciiWhitespace(etag);
  absl::ConsumePrefix(&etag, "\"");
  absl::ConsumeSuffix(&etag, "\"");
  // Other stores' ETags are no digests ("0x8DC...", "CJDn...="), nor are weak ones (W/"...").
  const auto dash = etag.find('-');
  if (etag.empty() || etag.substr(0, dash).find_first_not_of("0123456789abcdefABCDEF") != absl::string_view::npos) {
    return true;
  }
  file.etag = true;
  file.multipart = dash != absl::string_view::npos;
  if (!file.multipart) return SetDigest(etag, file);
  ManifestFile parts;
  return SetDigest(etag.substr(0, dash), parts);
}

std::vector<TextLine> SplitLines(absl::string_view text, char separator) {
  std::vector<TextLine> lines;
  std::int64_t number = 0;
  while (!text.empty()) {
    const auto end = text.find(separator);
    TextLine line = {text.substr(0, end), ++number, end == absl::string_view::npos};
    text.remove_prefix(line.open ? text.size() : end + 1);
    if (separator == '\n') absl::ConsumeSuffix(&line.text, "\r");
    lines.push_back(line);
  }
  return lines;
}

void ManifestBuilder::BadLine(std::int64_t line, absl::string_view text, bool last) {
  if (++bad_lines_ > kBadLinesShown && !last) return;
  v1::Problem& problem = *list_.add_incomplete();
  problem.set_id(last ? "manifest_incomplete" : "manifest_line_unknown");
  (*problem.mutable_args())["line"] = absl::StrCat(line);
  (*problem.mutable_args())["text"] = DisplayBytes(text.substr(0, kTextShown));
}

void ManifestBuilder::Add(ManifestFile file) {
  if (absl::StrContains(file.path, '\0')) {
    if (++bad_lines_ > kBadLinesShown) return;
    v1::Problem& problem = *list_.add_incomplete();
    problem.set_id("manifest_name_impossible");
    (*problem.mutable_args())["text"] = DisplayBytes(absl::string_view(file.path).substr(0, kTextShown));
    return;
  }
  if (file.path.size() <= kPathBytesMax) {
    files_.push_back(std::move(file));
    return;
  }
  v1::Problem& problem = *list_.add_incomplete();
  problem.set_id("manifest_name_too_long");
  (*problem.mutable_args())["text"] = DisplayBytes(absl::string_view(file.path).substr(0, kTextShown));
}

void ManifestBuilder::AddNote(absl::string_view kind, absl::string_view message) {
  v1::Note& note = *list_.add_notes();
  note.set_kind(std::string(kind));
  note.set_message(DisplayBytes(message));
}

void ManifestBuilder::UnifyFiles() {
  std::optional<ManifestFile> cut;
  if (files_.size() > 1 && files_.back().name_may_be_cut) {
    cut = std::move(files_.back());
    files_.pop_back();
  }
  std::vector<RawName> names;
  names.reserve(files_.size());
  bool urls = !files_.empty();
  bool slashes = false;
  for (ManifestFile& file : files_) {
    names.push_back({&file.path, file.exact_name});
    urls = urls && SchemeBytes(file.path) > 0;
    slashes = slashes || absl::StrContains(file.path, "/");
  }
  for (const RawName& name : names) {
    if (urls) name.text->erase(0, SchemeBytes(*name.text));
  }
  std::string root;
  UnifyNames(names, root);
  list_.set_root(root);
  if (!cut) return;
  std::string& path = cut->path;
  const bool url = SchemeBytes(path) > 0;
  if (urls) path.erase(0, SchemeBytes(path));
  if (!slashes && !cut->exact_name) absl::StrReplaceAll({{"\\", "/"}}, &path);
  Tidy(path);
  const std::string folder = root.empty() || absl::EndsWith(root, "/") ? root : absl::StrCat(root, "/");
  if (urls == url && absl::StartsWith(path, folder)) {
    path.erase(0, folder.size());
  } else if (urls != url || !IsAbsolute(path) || IsAbsolute(folder)) {
    path.clear();  // half a root
  }
  files_.push_back(*std::move(cut));
}

v1::FileList ManifestBuilder::Finish(absl::string_view format) {
  UnifyFiles();
  list_.set_format(std::string(format));
  std::stable_sort(files_.begin(), files_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  bool other_digests = false;
  std::size_t etags = 0;
  std::size_t multipart = 0;
  for (const ManifestFile& file : files_) {
    etags += file.etag && !file.multipart ? 1 : 0;
    multipart += file.multipart ? 1 : 0;
    if (file.path.empty() || file.path == ".") {
      // "./" of which the name is cut off.
      if (file.name_may_be_cut) list_.add_incomplete()->set_id("manifest_last_line_open");
      continue;
    }
    const int count = list_.files_size();
    if (count > 0 && list_.files(count - 1).path() == file.path) {
      v1::FileEntry& before = *list_.mutable_files(count - 1);
      if (before.has_error()) continue;  // contradicted once: a third line makes neither right
      const bool sizes_differ = before.has_size_bytes() && file.size_bytes && before.size_bytes() != *file.size_bytes;
      if (!sizes_differ && (before.md5() == file.md5 || file.md5.empty())) continue;  // repeated, or a second algorithm
      if (sizes_differ) before.clear_size_bytes();
      if (sizes_differ || !before.md5().empty()) {
        before.clear_md5();
        before.mutable_error()->set_id("manifest_name_twice");
        continue;
      }
      before.set_md5(file.md5);
      continue;
    }
    v1::FileEntry& entry = *list_.add_files();
    entry.set_path(file.path);
    entry.set_type(file.directory ? v1::FILE_TYPE_DIRECTORY
                   : file.link    ? v1::FILE_TYPE_SYMLINK
                                  : v1::FILE_TYPE_REGULAR);
    entry.set_md5(file.md5);
    entry.set_link_target(file.link_target);
    if (file.size_bytes) entry.set_size_bytes(*file.size_bytes);
    if (file.records) entry.set_records(*file.records);
    if (file.pointer) entry.mutable_error()->set_id("list_names_pointer");
    if (file.name_may_be_cut) entry.add_hints(v1::FILE_HINT_LAST_LINE_OPEN);
    for (const auto& [law, digest] : {std::make_pair("sha256", &file.sha256), std::make_pair("crc32", &file.crc32)}) {
      if (digest->empty() || file.pointer) continue;
      v1::AlternateDigest& alternate = *entry.add_alternates();
      alternate.set_law(law);
      alternate.set_md5(*digest);
    }
    other_digests = other_digests || (entry.type() == v1::FILE_TYPE_REGULAR && file.md5.empty());
  }
  if (multipart > 0) {
    AddNote("etag_multipart",
            absl::StrCat(multipart, " objects were uploaded in parts or encrypted with KMS: their ETag is no MD5"));
  }
  if (etags > 0) {
    AddNote("etag",
            absl::StrCat(etags, " ETags are taken as MD5: right for uploads in one part without KMS encryption"));
  }
  if (other_digests) AddNote("no_md5", "some files have no MD5 in this list (another algorithm, or none)");
  return std::move(list_);
}

}  // namespace paritect
