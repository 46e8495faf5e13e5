#include "common/pki/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "common/write_all.h"

namespace paritect {
namespace {

// 0 or errno.
int WriteAndSync(int fd, absl::string_view bytes) {
  const int error = WriteAll(fd, bytes);
  if (error != 0) return error;
  return fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

// Some file systems cannot fsync a folder, and then nothing more can be done.
void SyncFolder(absl::string_view folder) {
  const int fd = open(std::string(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

absl::Status WriteFileDurably(absl::string_view path, absl::string_view bytes, unsigned mode) {
  const std::string target(path);
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (fd < 0) return ErrnoStatus(errno, "cannot write", path);
  int error = WriteAndSync(fd, bytes);
  if (error == 0 && mode != kSecretMode && fchmod(fd, mode) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return ErrnoStatus(error, "cannot write", path);
  }
  SyncFolder(DirName(path));
  return absl::OkStatus();
}

absl::StatusOr<SecretFile> ReadSecretFile(absl::string_view path, std::uint64_t bytes_max) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, PosixFileSystem().Open(path));
  struct stat info = {};
  SecretFile secret;
  // By name, as File gives no mode: the answer is a hint to a person, not a decision.
  if (stat(std::string(path).c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    secret.warning = absl::StrFormat("%s holds a private key and others may read it (mode %04o): chmod 600 %s", path,
                                     info.st_mode & 07777, path);
  }
  std::vector<char> buffer(64 << 10);
  while (true) {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file->Read(absl::MakeSpan(buffer)));
    if (n == 0) return secret;
    secret.bytes.append(buffer.data(), n);
    if (secret.bytes.size() > bytes_max) {
      return absl::ResourceExhaustedError(absl::StrCat(path, " is larger than ", bytes_max, " bytes"));
    }
  }
}

}  // namespace paritect
