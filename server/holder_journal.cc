#include "server/holder_journal.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/pki/certificate.h"
#include "common/status_macros.h"
#include "server/access_role.h"

namespace paritect {
namespace {

constexpr std::uint64_t kJournalBytesMax = 256 << 20;

constexpr std::pair<HolderEvent, absl::string_view> kEvents[] = {{HolderEvent::kIssued, "issued"},
                                                                 {HolderEvent::kRevoked, "revoked"},
                                                                 {HolderEvent::kForgotten, "forgotten"},
                                                                 {HolderEvent::kEnrolled, "enrolled"}};

std::string OrDash(absl::string_view text) {
  return text.empty() ? "-" : std::string(text);
}

std::string FromDash(absl::string_view text) {
  return text == "-" ? "" : std::string(text);
}

}  // namespace

std::string FormatHolderLine(const HolderLine& line) {
  absl::string_view word;
  for (const auto& [event, name] : kEvents) {
    if (event == line.event) word = name;
  }
  const auto role = FromProto(line.role);
  return absl::StrCat(line.at_unix, " ", word, " ", role ? RoleName(*role) : "-", "/", line.name, " ",
                      OrDash(line.serial), " ", line.expires_unix, " ", OrDash(line.by), "\n");
}

std::optional<HolderLine> ParseHolderLine(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  HolderLine line;
  if (words.size() != 6 || !absl::SimpleAtoi(words[0], &line.at_unix) ||
      !absl::SimpleAtoi(words[4], &line.expires_unix)) {
    return std::nullopt;
  }
  bool known = false;
  for (const auto& [event, name] : kEvents) {
    if (name != words[1]) continue;
    line.event = event;
    known = true;
  }
  const std::pair<absl::string_view, absl::string_view> holder = absl::StrSplit(words[2], absl::MaxSplits('/', 1));
  const auto role = ParseRole(holder.first);
  if (!known || !role || !CheckName(std::string(holder.second)).ok()) return std::nullopt;
  line.role = ToProto(*role);
  line.name = std::string(holder.second);
  line.serial = FromDash(words[3]);
  line.by = FromDash(words[5]);
  return line;
}

HolderJournal::HolderJournal(absl::string_view folder) : path_(JoinPath(folder, "holders.log")) {}

absl::Status HolderJournal::Append(const HolderLine& line) {
  absl::MutexLock lock(&mutex_);
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "open", path_);
  const std::string text = FormatHolderLine(line);
  // One write: lines of two processes do not mix.
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  return written ? absl::OkStatus() : ErrnoStatus(error, "write", path_);
}

absl::StatusOr<std::vector<HolderLine>> HolderJournal::ReadNew() {
  absl::MutexLock lock(&mutex_);
  std::vector<HolderLine> lines;
  const auto info = PosixFileSystem().Stat(path_);
  if (absl::IsNotFound(info.status())) return lines;
  PARITECT_RETURN_IF_ERROR(info.status());
  if (info->size_bytes <= read_bytes_) return lines;
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(PosixFileSystem(), path_, kJournalBytesMax));
  if (text.size() < read_bytes_) return lines;
  absl::string_view rest = absl::string_view(text).substr(static_cast<std::size_t>(read_bytes_));
  for (std::size_t end = 0; (end = rest.find('\n')) != absl::string_view::npos; rest.remove_prefix(end + 1)) {
    read_bytes_ += end + 1;
    if (const auto line = ParseHolderLine(rest.substr(0, end))) lines.push_back(*line);
  }
  return lines;
}

absl::StatusOr<HolderLine> IssuedLine(const Credential& credential, std::int64_t now_unix) {
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate, Certificate::FromPem(credential.certificate_pem));
  HolderLine line;
  line.event = HolderEvent::kIssued;
  line.at_unix = now_unix;
  line.role = ToProto(credential.identity.role);
  line.name = credential.identity.name;
  line.serial = certificate.SerialHex();
  line.expires_unix = certificate.NotAfter();
  return line;
}

}  // namespace paritect
