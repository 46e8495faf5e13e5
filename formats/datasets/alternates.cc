#include "formats/datasets/alternates.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "formats/datasets/archive_members.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr string_view kBom = "\xEF\xBB\xBF";

bool HasNul(string_view bytes) {
  return bytes.find('\0') != string_view::npos;
}

std::string WithLf(string_view bytes) {
  absl::ConsumePrefix(&bytes, kBom);
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    out.push_back(bytes[i]);
  }
  return out;
}

// Lines sorted by bytes, joined by LF; whether the last one had a line end stays visible.
std::string SortedLines(string_view bytes) {
  const bool closed = !bytes.empty() && bytes.back() == '\n';
  if (closed) bytes.remove_suffix(1);
  std::vector<string_view> lines = absl::StrSplit(bytes, '\n');
  std::sort(lines.begin(), lines.end());
  std::string out;
  out.reserve(bytes.size() + 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.push_back('\n');
    out.append(lines[i].data(), lines[i].size());
  }
  if (closed) out.push_back('\n');
  return out;
}

std::string MembersMd5(string_view bytes, bool sorted) {
  auto members = ListArchiveMembers(bytes);
  if (!members.ok() || members->empty()) return "";
  if (sorted) std::sort(members->begin(), members->end());
  Digest digest(DigestKind::kMd5);
  for (const std::string& member : *members) {
    digest.Update(member);
    digest.Update("\n");
  }
  return digest.Finish();
}

}  // namespace

std::optional<std::uint64_t> PrefixOfLaw(string_view law) {
  std::uint64_t length = 0;
  if (!absl::ConsumePrefix(&law, "prefix:") || !absl::SimpleAtoi(law, &length)) return std::nullopt;
  return length;
}

std::string AlternateMd5(string_view law, string_view path, string_view bytes) {
  if (law == "members" || law == "members-in-order") {
    return IsArchiveName(path) ? MembersMd5(bytes, law == "members") : "";
  }
  if (HasNul(bytes)) return "";
  if (law == "lf") return Md5(WithLf(bytes));
  if (law == "sorted-lines") return Md5(SortedLines(bytes));
  if (law == "no-bom") {
    absl::ConsumePrefix(&bytes, kBom);
    return Md5(bytes);
  }
  return "";
}

void AddTextAlternates(string_view bytes, v1::FileEntry& entry) {
  if (bytes.empty() || HasNul(bytes)) return;
  for (string_view law : {"lf", "no-bom", "sorted-lines"}) {
    v1::AlternateDigest& alternate = *entry.add_alternates();
    alternate.set_law(std::string(law));
    alternate.set_md5(AlternateMd5(law, entry.path(), bytes));
  }
}

bool IsArchiveName(string_view path) {
  const std::string name = absl::AsciiStrToLower(BaseName(path));
  for (string_view ending : {".tar", ".tgz", ".tar.gz", ".zip", ".npz"}) {
    if (absl::EndsWith(name, ending)) return true;
  }
  return false;
}

}  // namespace paritect
