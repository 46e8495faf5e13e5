// Lists with one file a line: GNU md5sum, BSD tags, BagIt, hashdeep.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

bool IsComment(string_view line) {
  return absl::StripAsciiWhitespace(line).empty() || line.front() == '#' || line.front() == ';' || line == "//" ||
         absl::StartsWith(line, "// ");  // FCIV
}

std::size_t HexLength(string_view text) {
  std::size_t n = 0;
  while (n < text.size() && absl::ascii_isxdigit(static_cast<unsigned char>(text[n]))) ++n;
  return n;
}

// coreutils: "\\", "\n", "\r" in a name whose line begins with "\". nullopt: another escape.
std::optional<std::string> Unescape(string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\') {
      out.push_back(name[i]);
      continue;
    }
    if (++i == name.size()) return std::nullopt;
    if (name[i] == 'n') {
      out.push_back('\n');
    } else if (name[i] == 'r') {
      out.push_back('\r');
    } else if (name[i] == '\\') {
      out.push_back('\\');
    } else {
      return std::nullopt;
    }
  }
  return out;
}

struct ReadLine {
  bool ok = false;
  bool escaped = false;
  ManifestFile file;
};

// "hex  path", "hex *path", "hex path" (md5 -r), "\hex  escaped path"
ReadLine ReadGnuLine(string_view line) {
  ReadLine result;
  result.escaped = absl::ConsumePrefix(&line, "\\");
  const std::size_t digits = HexLength(line);
  if (digits == 0 || digits + 1 >= line.size() || !SetDigest(line.substr(0, digits), result.file)) return result;
  if (line[digits] != ' ' && line[digits] != '\t') return result;
  line.remove_prefix(digits + 1);
  if (line.size() > 1 && (line.front() == ' ' || line.front() == '*')) line.remove_prefix(1);
  if (line.empty() || line == " ") return result;
  result.file.path = std::string(line);
  result.ok = true;
  return result;
}

// "MD5 (path) = hex", "MD5(path)= hex" (openssl), "\MD5 (escaped path) = hex"
ReadLine ReadBsdLine(string_view line) {
  ReadLine result;
  result.escaped = absl::ConsumePrefix(&line, "\\");
  const auto open = line.find('(');
  if (open == string_view::npos || open == 0 || open > 24) return result;
  for (char c : line.substr(0, open)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != ' ' && c != '-' && c != '/') return result;
  }
  const auto close = std::max(line.rfind(") = ") + 1, line.rfind(")= ") + 1);  // npos + 1 is 0
  if (close == 0 || close <= open + 1) return result;
  const string_view hex = absl::StripAsciiWhitespace(line.substr(line.find('=', close) + 1));
  if (!SetDigest(hex, result.file)) return result;
  // Other digests have the same length: MD4 and BLAKE2b-128 are no MD5, SM3 and BLAKE2b-256 no SHA-256.
  const string_view tag = absl::StripAsciiWhitespace(line.substr(0, open));
  if (!absl::EqualsIgnoreCase(tag, "MD5")) result.file.md5.clear();
  const bool sha256 = absl::EqualsIgnoreCase(tag, "SHA256") || absl::EqualsIgnoreCase(tag, "SHA2-256") ||
                      absl::EqualsIgnoreCase(tag, "SHA-256");
  if (!sha256) result.file.sha256.clear();
  result.file.path = std::string(line.substr(open + 1, close - open - 2));
  result.ok = !result.file.path.empty();
  return result;
}

// Whether NUL ends the names (md5sum -z, where a name may hold line ends). A list of lines with a run of NULs in it, as
// a crash leaves it, is none: its first record goes on with another line of the form.
bool IsNulSeparated(string_view text, ReadLine (*read)(string_view)) {
  const auto nul = text.find('\0');
  if (nul == string_view::npos) return false;
  const string_view first = text.substr(0, nul);
  for (auto end = first.find('\n'); end != string_view::npos; end = first.find('\n', end + 1)) {
    const string_view rest = first.substr(end + 1);
    if (rest.empty())
      return nul + 1 == text.size() || read(text.substr(nul + 1, text.find('\0', nul + 1) - nul - 1)).ok;
    if (read(rest.substr(0, rest.find('\n'))).ok) return false;
  }
  return true;
}

absl::Status ReadLines(string_view text, ReadLine (*read)(string_view), bool name_last, ManifestBuilder& sink) {
  const bool nul = IsNulSeparated(text, read);
  const std::vector<TextLine> lines = SplitLines(text, nul ? '\0' : '\n');
  for (const TextLine& line : lines) {
    if (IsComment(line.text)) continue;
    ReadLine one = read(line.text);
    const bool cut = &line == &lines.back() && line.open;
    if (one.ok && one.escaped && !nul) {
      auto name = Unescape(one.file.path);
      one.ok = name.has_value();
      if (name) one.file.path = *name;
      one.file.exact_name = true;
    }
    if (!one.ok) {
      sink.BadLine(line.number, line.text, cut);
      continue;
    }
    one.file.name_may_be_cut = name_last && line.open;
    sink.Add(std::move(one.file));
  }
  return sink.size() == 0 ? absl::InvalidArgumentError("no line of a digest and a name") : absl::OkStatus();
}

// Whether one of the first lines that are not comments is of the form.
bool AnyLineFits(string_view head, ReadLine (*read)(string_view)) {
  const bool nul = IsNulSeparated(head, read);
  int tried = 0;
  for (const TextLine& line : SplitLines(head, nul ? '\0' : '\n')) {
    if (IsComment(line.text)) continue;
    if (read(line.text).ok) return true;
    if (++tried == 20) return false;
  }
  return false;
}

bool FitsMd5sum(string_view head, string_view) {
  // With -both FCIV states two digests before a name.
  if (absl::StrContains(head, kFcivMark) && absl::StrContains(head, "SHA-1")) return false;
  return AnyLineFits(head, &ReadGnuLine);
}
absl::Status ReadMd5sum(string_view text, ManifestBuilder& sink) {
  return ReadLines(text, &ReadGnuLine, true, sink);
}

// "git lfs ls-files", with -l the whole SHA-256: "OID * name" where the content is there, "OID - name" where only its
// pointer is; with -s a rounded size behind the name.
ReadLine ReadLfsLine(string_view line) {
  constexpr std::size_t kShortDigits = 10;
  ReadLine result;
  const std::size_t digits = HexLength(line);
  if (digits != kShortDigits && digits != 64) return result;
  if (digits == 64) SetDigest(line.substr(0, digits), result.file);
  line.remove_prefix(digits);
  const bool pointer = absl::StartsWith(line, " - ");
  if (!pointer && !absl::StartsWith(line, " * ")) return result;
  result.file.path = std::string(line.substr(3));
  result.file.pointer = pointer;
  result.ok = !result.file.path.empty();
  return result;
}

// " (1.2 MB)" behind every name.
std::size_t SizeBehind(string_view line) {
  const auto open = line.rfind(" (");
  if (open == string_view::npos || !absl::EndsWith(line, "B)") || line.size() - open > 16) return 0;
  return absl::ascii_isdigit(static_cast<unsigned char>(line[open + 2])) ? line.size() - open : 0;
}

ReadLine ReadSizedLfsLine(string_view line) {
  const std::size_t size = SizeBehind(line);
  return size == 0 ? ReadLine() : ReadLfsLine(line.substr(0, line.size() - size));
}

// Every line is one: md5sum's own would have a name that begins with a blank.
bool AllLinesFit(string_view head, ReadLine (*read)(string_view)) {
  int lines = 0;
  for (const TextLine& line : SplitLines(head)) {
    if (IsComment(line.text) || (line.open && lines > 0)) continue;
    if (!read(line.text).ok) return false;
    ++lines;
  }
  return lines > 0;
}

bool FitsLfs(string_view head, string_view) {
  return AllLinesFit(head, &ReadLfsLine);
}
absl::Status ReadLfs(string_view text, ManifestBuilder& sink) {
  const bool sized = AllLinesFit(text, &ReadSizedLfsLine);
  return ReadLines(text, sized ? &ReadSizedLfsLine : &ReadLfsLine, !sized, sink);
}

bool FitsBsd(string_view head, string_view) {
  return AnyLineFits(head, &ReadBsdLine);
}
absl::Status ReadBsd(string_view text, ManifestBuilder& sink) {
  return ReadLines(text, &ReadBsdLine, false, sink);
}

// RFC 8493, 2.1.3: CR, LF and "%" stand as %0D, %0A, %25 in names.
ReadLine ReadBagitLine(string_view line) {
  ReadLine result = ReadGnuLine(line);
  std::string path;
  const string_view raw = result.file.path;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const std::string code = absl::AsciiStrToUpper(raw.substr(i, 3));
    const char plain = code == "%0A" ? '\n' : code == "%0D" ? '\r' : code == "%25" ? '%' : '\0';
    path.push_back(plain == '\0' ? raw[i] : plain);
    if (plain != '\0') i += 2;
  }
  result.file.path = path;
  result.file.exact_name = true;
  return result;
}

bool FitsBagit(string_view head, string_view file_name) {
  const string_view name = BaseName(file_name);
  const bool named = absl::StartsWith(name, "manifest-") || absl::StartsWith(name, "tagmanifest-");
  // What a bag holds stands below data/; tags stand beside it.
  const bool payload = absl::StartsWith(name, "tagmanifest-") || absl::StrContains(head, " data/") ||
                       absl::StrContains(head, "*data/") || absl::StrContains(head, "./data/");
  return named && payload && absl::EndsWith(name, ".txt") && AnyLineFits(head, &ReadGnuLine);
}
absl::Status ReadBagit(string_view text, ManifestBuilder& sink) {
  return ReadLines(text, &ReadBagitLine, true, sink);
}

// SFV: "name CRC32", ";" comments.
ReadLine ReadSfvLine(string_view line) {
  constexpr std::size_t kDigits = 8;
  ReadLine result;
  line = absl::StripTrailingAsciiWhitespace(line);
  if (line.size() < kDigits + 2 || HexLength(line.substr(line.size() - kDigits)) != kDigits) return result;
  const string_view name = line.substr(0, line.size() - kDigits);
  if (name.back() != ' ' && name.back() != '\t') return result;
  result.file.path = std::string(absl::StripTrailingAsciiWhitespace(name));
  result.file.crc32 = *FromHex(line.substr(line.size() - kDigits));
  result.ok = !result.file.path.empty();
  return result;
}

// Any text may have a line that ends in eight hexadecimal digits: the name or every line must say so.
bool FitsSfv(string_view head, string_view file_name) {
  if (absl::EndsWithIgnoreCase(file_name, ".sfv")) return AnyLineFits(head, &ReadSfvLine);
  int lines = 0;
  for (const TextLine& line : SplitLines(head)) {
    if (IsComment(line.text) || line.open) continue;
    if (!ReadSfvLine(line.text).ok) return false;
    ++lines;
  }
  return lines > 0;
}
absl::Status ReadSfv(string_view text, ManifestBuilder& sink) {
  return ReadLines(text, &ReadSfvLine, false, sink);
}

constexpr string_view kHashdeepMark = "%%%% HASHDEEP-";

bool FitsHashdeep(string_view head, string_view) {
  return absl::StartsWith(head, kHashdeepMark);
}

// "%%%% size,md5,sha256,filename" names the columns; the file name is the last and may hold commas.
absl::Status ReadHashdeep(string_view text, ManifestBuilder& sink) {
  std::vector<std::string> columns = {"size", "md5", "sha256", "filename"};
  const std::vector<TextLine> lines = SplitLines(text);
  for (const TextLine& line : lines) {
    string_view rest = line.text;
    if (rest.empty() || absl::StartsWith(rest, "##") || absl::StartsWith(rest, kHashdeepMark)) continue;
    if (absl::ConsumePrefix(&rest, "%%%% ")) {
      columns = absl::StrSplit(rest, ',');
      continue;
    }
    const std::vector<string_view> fields =
        absl::StrSplit(rest, absl::MaxSplits(',', static_cast<int>(columns.size()) - 1));
    ManifestFile file;
    bool ok = fields.size() == columns.size();
    for (std::size_t i = 0; ok && i < columns.size(); ++i) {
      std::uint64_t size = 0;
      if (columns[i] == "filename") {
        file.path = std::string(fields[i]);
      } else if (columns[i] == "size") {
        ok = absl::SimpleAtoi(fields[i], &size);
        file.size_bytes = size;
      } else if (columns[i] == "md5" || columns[i] == "sha256") {
        ok = SetDigest(fields[i], file);  // others, some of the same length, are not compared
      }
    }
    if (!ok || file.path.empty()) {
      sink.BadLine(line.number, line.text, line.open);
      continue;
    }
    file.name_may_be_cut = line.open;
    sink.Add(std::move(file));
  }
  return absl::OkStatus();
}

}  // namespace

const ManifestForm kMd5sumForm = {"manifest-md5sum", &FitsMd5sum, &ReadMd5sum};
const ManifestForm kLfsForm = {"manifest-lfs", &FitsLfs, &ReadLfs};
const ManifestForm kBsdForm = {"manifest-bsd", &FitsBsd, &ReadBsd};
const ManifestForm kBagitForm = {"manifest-bagit", &FitsBagit, &ReadBagit};
const ManifestForm kSfvForm = {"manifest-sfv", &FitsSfv, &ReadSfv};
const ManifestForm kHashdeepForm = {"manifest-hashdeep", &FitsHashdeep, &ReadHashdeep};

}  // namespace paritect
