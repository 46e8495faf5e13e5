#include "tests/tidy/source_tree.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"

namespace paritect::tidy {
namespace {

constexpr std::uint64_t kFileBytesMax = 16 << 20;

// What is no source: an interpreter that a test starts without its environment leaves its cache as well.
bool IsLeftOut(absl::string_view path) {
  return path == ".git" || path == "build" || path == "tests/fuzz/corpus" || absl::EndsWith(path, "/__pycache__") ||
         absl::StartsWith(path, "quickstart-report");
}

void Walk(const std::string& folder, std::vector<SourceFile>& files) {
  FileSystem& fs = PosixFileSystem();
  const std::string root = PARITECT_SOURCE_DIR;
  std::vector<std::string> names;
  const absl::Status listed = fs.List(JoinPath(root, folder.empty() ? "." : folder),
                                      [&](const DirectoryEntry& entry) { names.push_back(entry.name); });
  if (!listed.ok()) return;
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = folder.empty() ? name : absl::StrCat(folder, "/", name);
    if (IsLeftOut(path)) continue;
    auto info = fs.LStat(JoinPath(root, path));
    if (!info.ok()) continue;
    if (info->type == FileInfo::Type::kDirectory) Walk(path, files);
    if (info->type != FileInfo::Type::kRegular) continue;
    auto text = ReadWholeFile(fs, JoinPath(root, path), kFileBytesMax);
    if (text.ok()) files.push_back({path, *std::move(text)});
  }
}

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Blanks out comments and, if asked, the inside of literals, one construct at a time.
class Stripper {
 public:
  Stripper(absl::string_view text, bool keep_strings) : text_(text), keep_strings_(keep_strings) {}

  std::string Run() {
    while (at_ < text_.size()) Step();
    return std::move(out_);
  }

 private:
  void Copy() { out_ += text_[at_++]; }
  void Blank() {
    out_ += text_[at_] == '\n' ? '\n' : ' ';
    ++at_;
  }
  void CopyOrBlank() { keep_strings_ ? Copy() : Blank(); }

  void Step() {
    const absl::string_view rest = text_.substr(at_);
    if (absl::StartsWith(rest, "//")) {
      while (at_ < text_.size() && text_[at_] != '\n') Blank();
    } else if (absl::StartsWith(rest, "/*")) {
      const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      while (at_ < end) Blank();
    } else if (absl::StartsWith(rest, "R\"") && (at_ == 0 || !IsWordCharacter(text_[at_ - 1]))) {
      RawString();
    } else if (rest[0] == '"') {
      Quoted('"');
    } else if (rest[0] == '\'' && (at_ == 0 || !absl::ascii_isxdigit(static_cast<unsigned char>(text_[at_ - 1])))) {
      Quoted('\'');
    } else {
      Copy();
    }
  }

  void RawString() {
    const std::size_t open = text_.find('(', at_);
    if (open == absl::string_view::npos) return Copy();
    const std::string close = absl::StrCat(")", text_.substr(at_ + 2, open - at_ - 2), "\"");
    const std::size_t found = text_.find(close, open);
    const std::size_t end = found == absl::string_view::npos ? text_.size() : found + close.size();
    while (at_ < end) CopyOrBlank();
  }

  void Quoted(char quote) {
    Copy();
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) CopyOrBlank();
      CopyOrBlank();
    }
    if (at_ < text_.size()) Copy();
  }

  absl::string_view text_;
  bool keep_strings_;
  std::size_t at_ = 0;
  std::string out_;
};

bool HasWord(absl::string_view text, absl::string_view word) {
  for (std::size_t at = text.find(word); at != absl::string_view::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !IsWordCharacter(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !IsWordCharacter(text[end]))) return true;
  }
  return false;
}

// What an opening brace begins, judged by the text since the last brace or semicolon.
enum class Brace { kScope, kFunction, kOther };
Brace JudgeBrace(absl::string_view head) {
  if (HasWord(head, "namespace") || absl::StrContains(head, "extern \"")) return Brace::kScope;
  const bool call = absl::StrContains(head, "(");
  if (!call && (HasWord(head, "class") || HasWord(head, "struct") || HasWord(head, "union"))) return Brace::kScope;
  if (HasWord(head, "enum")) return Brace::kOther;
  // "int x = {" and "const Check kX = {" are values; "operator==(" is not.
  const std::size_t equals = head.find('=');
  if (call && (equals == absl::string_view::npos || head.find('(') < equals || HasWord(head, "operator"))) {
    return Brace::kFunction;
  }
  return Brace::kOther;
}

}  // namespace

const std::vector<SourceFile>& AllFiles() {
  static const auto* const files = [] {
    auto* all = new std::vector<SourceFile>();
    Walk("", *all);
    return all;
  }();
  return *files;
}

const std::string& TextOf(absl::string_view path) {
  static const std::string* const kNothing = new std::string();
  for (const SourceFile& file : AllFiles()) {
    if (file.path == path) return file.text;
  }
  return *kNothing;
}

bool IsCpp(const SourceFile& file) {
  return absl::EndsWith(file.path, ".cc") || absl::EndsWith(file.path, ".h");
}

bool IsTest(const SourceFile& file) {
  return absl::EndsWith(file.path, "_test.cc") || absl::StartsWith(file.path, "tests/") ||
         absl::StartsWith(file.path, "bench/");
}

std::string TopFolder(absl::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == absl::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

std::string CodeOnly(absl::string_view text) {
  return Stripper(text, false).Run();
}

std::string WithoutComments(absl::string_view text) {
  return Stripper(text, true).Run();
}

std::vector<Function> FunctionsOf(absl::string_view text) {
  const std::string code = CodeOnly(text);
  std::vector<Function> functions;
  std::vector<Brace> open;
  int line = 1;
  std::size_t head = 0;    // where the text since the last brace or semicolon begins
  std::size_t inside = 0;  // depth at which the function being read was opened; 0: none
  bool at_line_start = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '\n') {
      ++line;
      at_line_start = true;
      continue;
    }
    if (at_line_start && c == '#') {  // directives have braces of their own
      while (i + 1 < code.size() && (code[i + 1] != '\n' || code[i] == '\\')) line += code[++i] == '\n';
      head = i + 1;
      continue;
    }
    if (c != ' ') at_line_start = false;
    if (c == ';' || c == '}') head = i + 1;
    if (c == '{') {
      const absl::string_view before = absl::string_view(code).substr(head, i - head);
      const bool outer =
          inside == 0 && std::all_of(open.begin(), open.end(), [](Brace b) { return b == Brace::kScope; });
      open.push_back(outer ? JudgeBrace(before) : Brace::kOther);
      if (open.back() == Brace::kFunction) {
        functions.push_back({std::string(before), line, 0});
        inside = open.size();
      }
      head = i + 1;
    }
    if (c == '}' && !open.empty()) {
      if (open.size() == inside) {
        functions.back().lines = line - functions.back().line + 1;
        inside = 0;
      }
      open.pop_back();
    }
  }
  return functions;
}

}  // namespace paritect::tidy
