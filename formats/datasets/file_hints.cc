#include "formats/datasets/file_hints.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "common/little_endian.h"
#include "common/numbers.h"
#include "formats/archives/gzip.h"
#include "formats/archives/zip.h"
#include "rules/file_names.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kRsyncSuffixLength = 6;

void AddHint(v1::FileHint hint, v1::FileEntry& entry) {
  if (!HasHint(entry, hint)) entry.add_hints(hint);
}

// ".Trash-1000": a user's bin on a disk of its own (freedesktop.org Trash specification); ".Trash" is every user's.
bool IsUsersTrash(string_view name) {
  return absl::ConsumePrefix(&name, ".trash-") && !name.empty() &&
         name.find_first_not_of("0123456789") == string_view::npos;
}

bool IsJunk(string_view path) {
  const std::vector<string_view> parts = absl::StrSplit(path, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part = absl::AsciiStrToLower(parts[i]);
    for (const std::string& folder : BuiltInFileNames().junk_folders) {
      if (part == folder) return true;
    }
    // A folder that carries a junk file's name holds nothing else.
    for (const std::string& name : BuiltInFileNames().junk_names) {
      if (part == name) return true;
    }
    if (IsUsersTrash(part)) return true;
    if (i + 1 < parts.size()) continue;
    if (absl::StartsWith(part, "._") && part.size() > 2) return true;      // AppleDouble
    if (absl::EndsWith(part, ":zone.identifier")) return true;             // NTFS stream written out
    if (absl::StartsWith(part, ".nfs") && part.size() >= 20) return true;  // deleted while open on NFS
  }
  return false;
}

// rsync writes ".NAME.XXXXXX" with six letters and digits; an ordinary ending is lower-case letters only.
bool IsRsyncName(string_view name) {
  if (name.size() < kRsyncSuffixLength + 3 || name.front() != '.') return false;
  const std::size_t dot = name.size() - kRsyncSuffixLength - 1;
  if (name[dot] != '.') return false;
  bool random = false;
  for (char c : name.substr(dot + 1)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) return false;
    random = random || absl::ascii_isupper(static_cast<unsigned char>(c)) ||
             absl::ascii_isdigit(static_cast<unsigned char>(c));
  }
  return random;
}

string_view LineOf(string_view& rest) {
  const auto end = rest.find('\n');
  string_view line = rest.substr(0, end);
  rest.remove_prefix(end == string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool IsConflictMark(string_view line) {
  return absl::StartsWith(line, "<<<<<<<") || absl::StartsWith(line, "=======") || absl::StartsWith(line, ">>>>>>>") ||
         absl::StartsWith(line, "|||||||");
}

constexpr string_view kLfsVersions[] = {"version https://git-lfs.github.com/spec/v1",
                                        "version https://hawser.github.com/spec/v1"};
constexpr std::size_t kLfsPointerBytesMax = 1024;  // docs/spec.md of git-lfs
constexpr std::size_t kLfsDamagedBytesMax = 4096;

struct PointerLines {
  int versions = 0;
  int oids = 0;
  int sizes = 0;
  int marks = 0;
  int others = 0;
  std::string oid;
  std::optional<std::int64_t> size;
};

PointerLines ReadPointerLines(string_view text) {
  PointerLines lines;
  while (!text.empty()) {
    const string_view line = LineOf(text);
    if (line.empty()) continue;
    if (line == kLfsVersions[0] || line == kLfsVersions[1]) {
      ++lines.versions;
    } else if (absl::StartsWith(line, "oid sha256:")) {
      auto raw = FromHex(line.substr(11));
      const bool whole = raw && raw->size() == 32;
      ++(whole ? lines.oids : lines.marks);  // half an oid: damaged
      if (whole) lines.oid = *raw;
    } else if (absl::StartsWith(line, "size ")) {
      auto size = ParseInt(line.substr(5));
      ++(size && *size >= 0 ? lines.sizes : lines.marks);
      if (size && *size >= 0) lines.size = size;
    } else if (IsConflictMark(line)) {
      ++lines.marks;
    } else if (!absl::StartsWith(line, "ext-")) {
      ++lines.others;
    }
  }
  return lines;
}

void AddPointerHint(string_view head, std::uint64_t size_bytes, v1::FileEntry& entry) {
  if (size_bytes > kLfsDamagedBytesMax || head.size() < size_bytes) return;
  if (!absl::StrContains(head, "git-lfs") && !absl::StrContains(head, "hawser") &&
      !absl::StrContains(head, "oid sha256:"))
    return;
  const PointerLines lines = ReadPointerLines(head);
  if (lines.versions == 0 || lines.others > 0) return;  // a text that speaks of LFS
  const bool whole = lines.versions == 1 && lines.oids == 1 && lines.sizes == 1 && lines.marks == 0;
  if (whole && size_bytes < kLfsPointerBytesMax) {
    AddHint(v1::FILE_HINT_LFS_POINTER, entry);
    entry.set_lfs_oid_sha256(lines.oid);
    entry.set_lfs_size_bytes(static_cast<std::uint64_t>(*lines.size));
  } else {
    AddHint(v1::FILE_HINT_LFS_POINTER_DAMAGED, entry);
  }
}

// What git-annex leaves of a file whose content is elsewhere: "/annex/objects/SHA256E-s123--HEX.bin"; and xet's own.
void AddAnnexHint(string_view head, std::uint64_t size_bytes, v1::FileEntry& entry) {
  constexpr std::uint64_t kPointerBytesMax = 32 << 10;
  if (size_bytes > kPointerBytesMax || head.size() < size_bytes) return;
  if (absl::StartsWith(head, "# xet version ")) AddHint(v1::FILE_HINT_LFS_POINTER, entry);
  if (!absl::ConsumePrefix(&head, "/annex/objects/") || absl::StrContains(head, '\0')) return;
  const string_view key = LineOf(head);
  const auto size = key.find("-s");
  const auto name = key.find("--");
  if (size == string_view::npos || name == string_view::npos || name < size) return;
  AddHint(v1::FILE_HINT_LFS_POINTER, entry);
  if (const auto bytes = ParseInt(key.substr(size + 2, name - size - 2)); bytes && *bytes >= 0) {
    entry.set_lfs_size_bytes(static_cast<std::uint64_t>(*bytes));
  }
  const auto digest = FromHex(key.substr(name + 2, 64));
  if (absl::StartsWith(key, "SHA256") && digest && digest->size() == 32) entry.set_lfs_oid_sha256(*digest);
}

// ".tar.gz" gives "gz"; the text behind the last dot in lower case.
std::string Extension(string_view path) {
  const string_view name = BaseName(path);
  const auto dot = name.rfind('.');
  return dot == string_view::npos ? "" : absl::AsciiStrToLower(name.substr(dot + 1));
}

bool IsTarName(string_view path) {
  const std::string name = absl::AsciiStrToLower(BaseName(path));
  for (string_view ending : {".tar", ".tgz", ".tar.gz", ".tar.bz2"}) {
    if (absl::EndsWith(name, ending)) return true;
  }
  return false;
}

void AddHtmlHint(string_view path, string_view head, v1::FileEntry& entry) {
  const std::string extension = Extension(path);
  for (string_view web : {"html", "htm", "xhtml", "shtml", "mhtml", "mht", "php", "jsp", "aspx", "vue", "svelte"}) {
    if (extension == web) return;
  }
  absl::ConsumePrefix(&head, "\xEF\xBB\xBF");
  head = absl::StripLeadingAsciiWhitespace(head.substr(0, 1024));
  const std::string start = absl::AsciiStrToLower(head);
  const bool html = absl::StartsWith(start, "<!doctype html") || absl::StartsWith(start, "<html") ||
                    absl::StartsWith(start, "<head>") ||
                    (absl::StartsWith(start, "<?xml") && absl::StrContains(start, "<html"));
  // What object stores answer in place of the object.
  const bool store_error = extension != "xml" && absl::StartsWith(start, "<?xml") &&
                           absl::StrContains(start, "<error>") && absl::StrContains(start, "<code>");
  if (html || store_error) AddHint(v1::FILE_HINT_HTML_PAGE, entry);
}

bool AllZero(string_view bytes) {
  for (char c : bytes) {
    if (c != '\0') return false;
  }
  return true;
}

bool IsEmptyArchive(string_view path, string_view head, std::uint64_t size_bytes) {
  if (head.size() < size_bytes || size_bytes == 0) return false;
  if (size_bytes == 22 && LooksLikeZip(head)) return true;  // ZIP: end record only
  if (size_bytes == 14 && absl::StartsWith(head, "BZh") && head.substr(4, 4) == "\x17\x72\x45\x38") return true;
  if (size_bytes == 32 && absl::StartsWith(head, "7z\xBC\xAF\x27\x1C") && AllZero(head.substr(12, 16))) return true;
  if (LooksLikeGzip(head)) {
    const Gunzipped content = Gunzip(head, kHintHeadBytes);
    return content.whole && !content.trailing && (content.bytes.empty() || (IsTarName(path) && AllZero(content.bytes)));
  }
  return IsTarName(path) && size_bytes >= 1024 && AllZero(head);
}

// The largest end of "data_offsets" in a safetensors header, without parsing it as JSON.
std::optional<std::uint64_t> SafetensorsSize(string_view head) {
  const std::uint64_t header = LittleEndian(head, 0, 8);
  if (header < 2 || header > head.size() - 8 || head[8] != '{') return std::nullopt;
  string_view rest = head.substr(8, header);
  std::uint64_t end = 0;
  for (;;) {
    const auto at = rest.find("\"data_offsets\"");
    if (at == string_view::npos) break;
    rest.remove_prefix(at);
    const auto comma = rest.find(',');
    const auto close = rest.find(']');
    if (comma == string_view::npos || close == string_view::npos || comma > close) return std::nullopt;
    auto value = ParseInt(absl::StripAsciiWhitespace(rest.substr(comma + 1, close - comma - 1)));
    if (!value || *value < 0) return std::nullopt;
    end = std::max(end, static_cast<std::uint64_t>(*value));
    rest.remove_prefix(close);
  }
  return 8 + header + end;
}

bool IsPartialArchive(string_view path, string_view head, string_view tail, std::uint64_t size_bytes) {
  if (head.size() < 16) return false;
  const std::string extension = Extension(path);
  if (absl::StartsWith(head, "PK\x03\x04")) return !absl::StrContains(tail, "PK\x05\x06");
  if (absl::StartsWith(head, "PAR1")) return !absl::EndsWith(tail, "PAR1");
  if (absl::StartsWith(head, "ARROW1")) return !absl::EndsWith(tail, "ARROW1");
  if (head.size() > 262 && head.substr(257, 5) == "ustar")
    return size_bytes % 512 != 0 || !AllZero(tail.substr(tail.size() - 512));
  if (extension == "safetensors") {
    auto whole = SafetensorsSize(head);
    return whole && *whole > size_bytes;
  }
  return false;
}

}  // namespace

bool HasHint(const v1::FileEntry& entry, v1::FileHint hint) {
  for (int known : entry.hints()) {
    if (known == hint) return true;
  }
  return false;
}

std::optional<std::string> FinalNameOfTransfer(string_view path) {
  const string_view folder = DirName(path);
  const string_view name = BaseName(path);
  const std::string prefix = folder == "." ? "" : absl::StrCat(folder, "/");
  if (IsRsyncName(name)) {
    return absl::StrCat(prefix, name.substr(1, name.size() - kRsyncSuffixLength - 2));
  }
  const std::string lower = absl::AsciiStrToLower(name);
  for (const std::string& ending : BuiltInFileNames().transfer_endings) {
    if (lower.size() > ending.size() && absl::EndsWith(lower, ending)) {
      return absl::StrCat(prefix, name.substr(0, name.size() - ending.size()));
    }
  }
  for (const std::string& kept : BuiltInFileNames().transfer_folders) {
    if (folder == kept) return std::string(name);
    if (absl::EndsWith(folder, absl::StrCat("/", kept))) {
      return absl::StrCat(folder.substr(0, folder.size() - kept.size()), name);
    }
  }
  return std::nullopt;
}

void AddNameHints(string_view path, v1::FileEntry& entry) {
  if (IsJunk(path)) {
    AddHint(v1::FILE_HINT_OS_JUNK, entry);
  } else if (FinalNameOfTransfer(path)) {
    AddHint(v1::FILE_HINT_UNFINISHED_TRANSFER, entry);
  }
}

void AddContentHints(string_view head, string_view tail, std::uint64_t size_bytes, v1::FileEntry& entry) {
  if (size_bytes == 0) {
    AddHint(v1::FILE_HINT_EMPTY, entry);
    return;
  }
  AddPointerHint(head, size_bytes, entry);
  AddAnnexHint(head, size_bytes, entry);
  AddHtmlHint(entry.path(), head, entry);
  if (IsEmptyArchive(entry.path(), head, size_bytes)) {
    AddHint(v1::FILE_HINT_EMPTY_ARCHIVE, entry);
  } else if (IsPartialArchive(entry.path(), head, tail, size_bytes)) {
    AddHint(v1::FILE_HINT_PARTIAL_ARCHIVE, entry);
  }
}

}  // namespace paritect
