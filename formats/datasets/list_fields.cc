#include "formats/datasets/list_fields.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kMd5Base64 = 24;     // 16 bytes, "==" at their end
constexpr std::size_t kSha256Base64 = 44;  // 32 bytes, "="

string_view Unquoted(string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return absl::StripAsciiWhitespace(text);
}

std::optional<std::string> FromBase64(string_view text) {
  const bool md5 = text.size() == kMd5Base64 && absl::EndsWith(text, "==");
  const bool sha256 = text.size() == kSha256Base64 && absl::EndsWith(text, "=") && !absl::EndsWith(text, "==");
  std::string raw;
  if (!md5 && !sha256) return std::nullopt;
  if (!absl::Base64Unescape(text, &raw) && !absl::WebSafeBase64Unescape(text, &raw)) return std::nullopt;
  return raw.size() == (md5 ? 16U : 32U) ? std::make_optional(raw) : std::nullopt;
}

// "4e 15 f1 ...", as certutil of Windows 7 prints it.
std::optional<std::string> FromGroups(string_view text) {
  if (text.size() < 47 || text[2] != ' ' || text[5] != ' ') return std::nullopt;
  return FromHex(absl::StrReplaceAll(text, {{" ", ""}}));
}

// What an algorithm is called without its separators: "SHA-256" and "sha256" are one.
std::string PlainAlgorithm(string_view word) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(word), {{"-", ""}, {"_", ""}, {" ", ""}});
}

bool IsKnownLength(std::size_t bytes) {
  return bytes == 16 || bytes == 20 || bytes == 28 || bytes == 32 || bytes == 48 || bytes == 64;
}

// "md5:...", "sha256 ...": the name in front goes to `algorithm`.
void TakeAlgorithm(string_view& text, std::string& algorithm) {
  const auto end = text.find_first_of(": ");
  if (end == string_view::npos || !IsAlgorithmName(text.substr(0, end))) return;
  algorithm = PlainAlgorithm(text.substr(0, end));
  text = absl::StripLeadingAsciiWhitespace(text.substr(end + 1));
}

}  // namespace

bool IsAlgorithmName(string_view word) {
  const std::string plain = PlainAlgorithm(word);
  for (string_view known : {"md2", "md4", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "mactripledes",
                            "ripemd160", "crc32", "crc32c", "crc64", "blake2b", "blake3", "sm3", "xxh128"}) {
    if (plain == known) return true;
  }
  return false;
}

bool SetAnyDigest(string_view text, string_view algorithm, ManifestFile& file) {
  text = Unquoted(text);
  std::string law = PlainAlgorithm(algorithm);
  TakeAlgorithm(text, law);
  const bool kept = law.empty() || law == "md5" || law == "sha256";
  std::uint32_t parts = 0;
  if (text.size() > 33 && text[32] == '-' && absl::SimpleAtoi(text.substr(33), &parts)) return SetEtag(text, file);
  std::optional<std::string> raw = FromHex(text);
  if (!raw) raw = FromGroups(text);
  if (!raw) raw = FromBase64(text);
  if (!raw) return !kept && !text.empty();
  if (!IsKnownLength(raw->size())) return !kept;
  if (!kept) return true;
  if (raw->size() == 16 && law != "sha256") file.md5 = *raw;
  if (raw->size() == 32 && law != "md5") file.sha256 = *raw;
  return law.empty() || raw->size() == (law == "md5" ? 16U : 32U);
}

bool IsDigestText(string_view text) {
  ManifestFile file;
  text = Unquoted(text);
  return text.size() >= kMd5Base64 && SetAnyDigest(text, "", file);
}

std::optional<SizeText> ReadSize(string_view text) {
  text = Unquoted(text);
  SizeText size;
  if (absl::SimpleAtoi(text, &size.bytes)) return size;
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("0123456789.,"), text.size());
  const std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(end)));
  const std::string number = absl::StrReplaceAll(text.substr(0, end), {{",", ""}});
  const bool bytes = unit.empty() || unit == "b" || unit == "byte" || unit == "bytes" || unit == "字节";
  if (bytes && absl::SimpleAtoi(number, &size.bytes)) return size;
  double rounded = 0;
  size.known = false;
  const bool scaled = !unit.empty() && absl::StrContains("kmgtp", unit.substr(0, 1)) && unit.size() <= 3;
  return scaled && absl::SimpleAtod(number, &rounded) ? std::make_optional(size) : std::nullopt;
}

bool ListFields::Put(ListColumn column, string_view value) {
  const string_view plain = absl::StripAsciiWhitespace(value);
  switch (column) {
    case ListColumn::kPath:
      if (!file_.exact_name) path_ = std::string(value);
      return true;
    case ListColumn::kName: name_ = std::string(value); return true;
    case ListColumn::kFolder: folder_ = std::string(value); return true;
    case ListColumn::kUrl: url_ = std::string(plain); return true;
    case ListColumn::kPathBase64:
      if (value.empty()) return true;
      file_.exact_name = true;
      return absl::Base64Unescape(value, &path_);
    case ListColumn::kAlgorithm: algorithm_ = std::string(plain); return true;
    case ListColumn::kKind:
      file_.directory = absl::EqualsIgnoreCase(plain, "folder") || absl::EqualsIgnoreCase(plain, "directory") ||
                        absl::EqualsIgnoreCase(plain, "dir");
      return true;
    case ListColumn::kDigest:
    case ListColumn::kSha256:
      has_content_ = true;
      if (!plain.empty() && column == ListColumn::kDigest) digests_.emplace_back(plain);
      return plain.empty() || column != ListColumn::kSha256 || SetAnyDigest(plain, "sha256", file_);
    case ListColumn::kEtag: has_content_ = true; return file_.md5.empty() ? SetEtag(plain, file_) : true;
    case ListColumn::kSize: {
      has_content_ = true;
      if (plain.empty() || plain == "-") return true;
      const auto size = ReadSize(plain);
      if (size && size->known) file_.size_bytes = size->bytes;
      return size.has_value();
    }
    case ListColumn::kRecords: {
      std::uint64_t records = 0;
      if (plain.empty()) return true;
      if (!absl::SimpleAtoi(plain, &records)) return false;
      file_.records = records;
      return true;
    }
    case ListColumn::kOther: return true;
  }
  return true;
}

std::optional<ManifestFile> ListFields::Finish() {
  if (path_.empty() && !name_.empty()) {
    path_ = folder_.empty() ? name_ : absl::StrCat(folder_, absl::StrContains(folder_, "\\") ? "\\" : "/", name_);
  }
  if (path_.empty()) path_ = url_;
  if (path_.empty()) return std::nullopt;
  // What is stated beats what the ETag lets guess.
  if (!digests_.empty() && file_.etag) {
    file_.md5.clear();
    file_.etag = file_.multipart = false;
  }
  for (const std::string& digest : digests_) {
    if (!SetAnyDigest(digest, algorithm_, file_)) return std::nullopt;
  }
  file_.path = std::move(path_);
  return std::move(file_);
}

}  // namespace paritect
