// mtree specifications (mtree(5) of NetBSD and FreeBSD, and what bsdtar writes): full paths with "/" or
// names relative to the folder above, "/set" defaults, vis(3) escapes, lines continued with "\".
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

bool FitsMtree(string_view head, string_view) {
  if (absl::StartsWith(head, "#mtree")) return true;
  for (const TextLine& line : SplitLines(head)) {
    const string_view text = absl::StripAsciiWhitespace(line.text);
    if (text.empty() || text.front() == '#') continue;
    return absl::StartsWith(text, "/set ") || absl::StrContains(text, " type=") ||
           absl::StrContains(text, " md5digest=");
  }
  return false;
}

bool IsOctal(char c) {
  return c >= '0' && c <= '7';
}

// vis(3): \ooo octal, \s blank, \n, \t, \r, \\, \#.
std::string Unvis(string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\' || i + 1 == name.size()) {
      out.push_back(name[i]);
      continue;
    }
    if (i + 3 < name.size() && IsOctal(name[i + 1]) && IsOctal(name[i + 2]) && IsOctal(name[i + 3])) {
      out.push_back(static_cast<char>((name[i + 1] - '0') * 64 + (name[i + 2] - '0') * 8 + (name[i + 3] - '0')));
      i += 3;
      continue;
    }
    switch (name[++i]) {
      case 's': out.push_back(' '); break;
      case 'n': out.push_back('\n'); break;
      case 't': out.push_back('\t'); break;
      case 'r': out.push_back('\r'); break;
      default: out.push_back(name[i]);
    }
  }
  return out;
}

struct Entry {
  ManifestFile file;
  std::string type;
  bool ok = true;
};

void ReadKeyword(string_view word, Entry& entry) {
  const std::pair<string_view, string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
  const auto& [key, value] = parts;
  if (key == "type") {
    entry.type = std::string(value);
  } else if (key == "size") {
    std::uint64_t size = 0;
    entry.ok = entry.ok && absl::SimpleAtoi(value, &size);
    entry.file.size_bytes = size;
  } else if (key == "md5" || key == "md5digest" || key == "sha256" || key == "sha256digest") {
    entry.ok = entry.ok && SetDigest(value, entry.file);
  } else if (key == "link") {
    entry.file.link_target = Unvis(value);
  }
}

class Reader {
 public:
  explicit Reader(ManifestBuilder& sink) : sink_(sink) {}

  void Read(string_view text, std::int64_t number, bool last, bool open) {
    const std::vector<string_view> words = absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty() || words[0].front() == '#') return;
    if (words[0] == "/set") {
      defaults_ = std::vector<std::string>(words.begin() + 1, words.end());
    } else if (words[0] == "/unset") {
      defaults_.clear();
    } else if (words[0] == "..") {
      const auto slash = folder_.rfind('/');
      folder_ = slash == std::string::npos ? "" : folder_.substr(0, slash);
    } else {
      ReadEntry(words, text, number, last, open);
    }
  }

 private:
  void ReadEntry(const std::vector<string_view>& words, string_view text, std::int64_t number, bool last, bool open) {
    Entry entry;
    for (const std::string& word : defaults_) ReadKeyword(word, entry);
    for (std::size_t i = 1; i < words.size(); ++i) ReadKeyword(words[i], entry);
    const std::string name = Unvis(words[0]);
    const bool full = absl::StrContains(name, "/");
    const std::string path = full || folder_.empty() ? name : absl::StrCat(folder_, "/", name);
    if (entry.type == "dir") {
      if (!full) folder_ = name == "." ? "" : path;
      return;
    }
    const bool file = entry.type == "file" || (entry.type.empty() && !entry.file.md5.empty());
    if (!entry.ok || (entry.type.empty() && !file) || (open && file && entry.file.md5.empty())) {
      sink_.BadLine(number, text, last);
      return;
    }
    if (!file && entry.type != "link") return;  // devices and the like have no content
    entry.file.link = entry.type == "link";
    entry.file.path = path;
    entry.file.exact_name = true;
    sink_.Add(std::move(entry.file));
  }

  ManifestBuilder& sink_;
  std::vector<std::string> defaults_;
  std::string folder_;
};

absl::Status ReadMtree(string_view text, ManifestBuilder& sink) {
  Reader reader(sink);
  const std::vector<TextLine> lines = SplitLines(text);
  std::string joined;
  for (const TextLine& line : lines) {
    absl::StrAppend(&joined, line.text);
    if (absl::EndsWith(joined, "\\") && &line != &lines.back()) {
      joined.pop_back();
      joined.push_back(' ');
      continue;
    }
    reader.Read(joined, line.number, &line == &lines.back(), line.open);
    joined.clear();
  }
  return absl::OkStatus();
}

}  // namespace

const ManifestForm kMtreeForm = {"manifest-mtree", &FitsMtree, &ReadMtree};

}  // namespace paritect
