#include "common/file_system.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kReadChunkBytes = 1 << 16;

}  // namespace

absl::StatusOr<std::size_t> File::ReadAt(std::uint64_t, absl::Span<char>) {
  return absl::UnimplementedError("this file is read from its beginning only");
}

absl::StatusOr<std::string> ReadWholeFile(FileSystem& fs, absl::string_view path, std::uint64_t limit_bytes) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  PARITECT_ASSIGN_OR_RETURN(FileInfo info, file->Info());
  if (info.size_bytes > limit_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("read ", DisplayBytes(path), ": ", info.size_bytes,
                                                     " bytes found, at most ", limit_bytes, " are read"));
  }
  std::string bytes;
  std::vector<char> chunk(kReadChunkBytes);
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, file->Read(absl::MakeSpan(chunk)));
    if (n == 0) return bytes;
    bytes.append(chunk.data(), n);
    if (bytes.size() > limit_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("read ", DisplayBytes(path), ": more than ", limit_bytes,
                                                       " bytes found, at most ", limit_bytes, " are read"));
    }
  }
}

std::string JoinPath(absl::string_view base, absl::string_view name) {
  if (name.empty()) return std::string(base);
  if (name.front() == '/' || base.empty() || base == ".") return std::string(name);
  if (base.back() == '/') return absl::StrCat(base, name);
  return absl::StrCat(base, "/", name);
}

absl::string_view BaseName(absl::string_view path) {
  const auto slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

absl::string_view DirName(absl::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

}  // namespace paritect
