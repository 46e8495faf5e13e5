// The writing half of manifest.h.
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "common/utf8.h"
#include "formats/datasets/manifest.h"

namespace paritect {
namespace {

using absl::string_view;

bool NeedsEscape(string_view path) {
  return path.find_first_of("\\\n\r") != string_view::npos;
}

std::string Escaped(string_view path) {
  return absl::StrReplaceAll(path, {{"\\", "\\\\"}, {"\n", "\\n"}, {"\r", "\\r"}});
}

std::string Md5sumLine(const v1::FileEntry& file, string_view prefix) {
  const std::string hex = ToHex(file.md5());
  if (!NeedsEscape(file.path())) return absl::StrCat(hex, "  ", prefix, file.path(), "\n");
  return absl::StrCat("\\", hex, "  ", prefix, Escaped(file.path()), "\n");
}

std::string BsdLine(const v1::FileEntry& file) {
  const bool escape = NeedsEscape(file.path());
  return absl::StrCat(escape ? "\\" : "", "MD5 (", escape ? Escaped(file.path()) : file.path(),
                      ") = ", ToHex(file.md5()), "\n");
}

std::string BagitLine(const v1::FileEntry& file) {
  const std::string path = absl::StrReplaceAll(file.path(), {{"%", "%25"}, {"\n", "%0A"}, {"\r", "%0D"}});
  return absl::StrCat(ToHex(file.md5()), "  ", absl::StartsWith(path, "data/") ? "" : "data/", path, "\n");
}

std::string CsvField(string_view text) {
  if (text.find_first_of(",\"\r\n") == string_view::npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// A name that may be read in two ways: its backslashes could be taken for another system's separators.
bool IsAmbiguous(string_view path) {
  return absl::StrContains(path, '\\');
}

// A name that is not UTF-8 stands in path_b64, which every row has; one that is ambiguous stands in both.
std::string CsvLine(const v1::FileEntry& file) {
  const bool plain = IsValidUtf8(file.path());
  const bool raw = !plain || IsAmbiguous(file.path());
  return absl::StrCat(plain ? CsvField(file.path()) : "", ",", raw ? absl::Base64Escape(file.path()) : "", ",",
                      file.has_size_bytes() ? absl::StrCat(file.size_bytes()) : "", ",", ToHex(file.md5()), "\n");
}

std::string JsonString(string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppend(&out, "\\u00", absl::Hex(static_cast<int>(c), absl::kZeroPad2));
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string JsonLine(const v1::FileEntry& file) {
  const std::string raw = absl::StrCat("\"path_b64\":\"", absl::Base64Escape(file.path()), "\"");
  const std::string text = absl::StrCat("\"path\":", JsonString(file.path()));
  const bool plain = IsValidUtf8(file.path());
  const std::string path = !plain ? raw : IsAmbiguous(file.path()) ? absl::StrCat(text, ",", raw) : text;
  const std::string size = file.has_size_bytes() ? absl::StrCat(",\"size\":", file.size_bytes()) : "";
  return absl::StrCat("{", path, size, ",\"md5\":\"", ToHex(file.md5()), "\"}");
}

std::string HashdeepLine(const v1::FileEntry& file) {
  return absl::StrCat(file.size_bytes(), ",", ToHex(file.md5()), ",", file.path(), "\n");
}

bool IsListed(const v1::FileEntry& file) {
  return file.type() == v1::FILE_TYPE_REGULAR || file.type() == v1::FILE_TYPE_UNSPECIFIED;
}

}  // namespace

absl::StatusOr<std::string> WriteManifest(const v1::FileList& list, string_view format) {
  std::string out;
  bool first = true;
  if (format == "csv") out = "path,path_b64,size,md5\n";
  if (format == "json") out = "{\"format\":\"paritect.manifest/1\",\"files\":[\n";
  if (format == "hashdeep") out = "%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n##\n";
  for (const v1::FileEntry& file : list.files()) {
    if (!IsListed(file)) continue;
    if (file.md5().empty()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(file.path()), ": no MD5"));
    if (format == "md5sum") {
      out += Md5sumLine(file, "");
    } else if (format == "bsd") {
      out += BsdLine(file);
    } else if (format == "bagit") {
      out += BagitLine(file);
    } else if (format == "csv") {
      out += CsvLine(file);
    } else if (format == "json") {
      absl::StrAppend(&out, first ? "" : ",\n", JsonLine(file));
    } else if (format == "hashdeep") {
      if (file.path().find_first_of("\r\n") != std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat(
            DisplayBytes(file.path()), ": hashdeep's form has no line ends in names; use md5sum, csv or json"));
      }
      out += HashdeepLine(file);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("no form '", format, "'"));
    }
    first = false;
  }
  if (format == "json") out += "\n]}\n";
  return out;
}

void ListingDigester::Add(const v1::FileEntry& file) {
  if (!IsListed(file)) return;
  whole_ = whole_ && !file.md5().empty();
  digest_.Update(Md5sumLine(file, "./"));
}

std::string ListingDigester::Finish() {
  return whole_ ? digest_.Finish() : "";
}

std::string ListingDigest(const v1::FileList& list) {
  ListingDigester digester;
  for (const v1::FileEntry& file : list.files()) digester.Add(file);
  return digester.Finish();
}

}  // namespace paritect
