#include "client/fleet/host_shell.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/child_process.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/write_all.h"

extern char** environ;

namespace paritect {
namespace {

constexpr std::uint64_t kBundleBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kOutputBytesMax = 1 << 20;
constexpr std::size_t kTailLines = 3;
constexpr int kSshFailed = 255;  // ssh(1), EXIT STATUS: an error of ssh itself

// The other side's login shell reads it, be it a Bourne shell, csh or fish: quotes and plain words alone. dd takes the
// script byte by byte, so that what follows it is left for the script.
absl::StatusOr<std::string> CommandLine(const HostCall& call, bool sudo) {
  std::string line = absl::StrCat(sudo ? "sudo -n " : "", "sh -c 'eval \"$(dd bs=1 count=", call.script.size(),
                                  " 2>/dev/null)\"' paritect");
  for (const std::string& argument : call.arguments) {
    PARITECT_RETURN_IF_ERROR(CheckShellWord(argument));
    absl::StrAppend(&line, " '", argument, "'");
  }
  return line;
}

absl::StatusOr<int> InMemory(absl::string_view bytes) {
  const int fd = memfd_create("paritect-fleet", MFD_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "make", "a file in memory");
  if (const int error = WriteAll(fd, bytes); error != 0) {
    close(fd);
    return ErrnoStatus(error, "write", "a file in memory");
  }
  return fd;
}

// The same bytes with a place of its own to read on.
absl::StatusOr<int> Reopened(int fd) {
  const int again = open(absl::StrCat("/proc/self/fd/", fd).c_str(), O_RDONLY | O_CLOEXEC);
  if (again < 0) return ErrnoStatus(errno, "open", "a file in memory");
  return again;
}

// The last lines that say something.
std::string Tail(absl::string_view output) {
  std::vector<absl::string_view> lines = absl::StrSplit(output, '\n', absl::SkipWhitespace());
  if (lines.size() > kTailLines) lines.erase(lines.begin(), lines.end() - kTailLines);
  for (absl::string_view& line : lines) line = absl::StripAsciiWhitespace(line);
  return absl::StrJoin(lines, "; ");
}

}  // namespace

absl::Status CheckShellWord(absl::string_view word) {
  for (const char c : word) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::string_view("_./@%+:=,-").find(c) != word.npos) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(word), ": letters, digits and _ . / @ % + : = , - only, for a shell reads it"));
  }
  return absl::OkStatus();
}

SshShell::~SshShell() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [file, fd] : prepared_) close(fd);
}

absl::StatusOr<int> SshShell::OpenInput(const HostCall& call) {
  if (call.payload_file.empty()) {
    PARITECT_ASSIGN_OR_RETURN(const int fd, InMemory(absl::StrCat(call.script, call.payload)));
    auto again = Reopened(fd);
    close(fd);
    return again;
  }
  // A bundle goes to many hosts: it is read once.
  absl::MutexLock lock(&mutex_);
  auto found = prepared_.find(call.payload_file);
  if (found == prepared_.end()) {
    PARITECT_ASSIGN_OR_RETURN(const std::string bytes,
                              ReadWholeFile(PosixFileSystem(), call.payload_file, kBundleBytesMax));
    PARITECT_ASSIGN_OR_RETURN(const int fd, InMemory(absl::StrCat(call.script, call.payload, bytes)));
    found = prepared_.emplace(call.payload_file, fd).first;
  }
  return Reopened(found->second);
}

absl::StatusOr<std::string> SshShell::Run(const std::string& host, const HostCall& call) {
  PARITECT_ASSIGN_OR_RETURN(const std::string line, CommandLine(call, options_.sudo));
  // It asks nobody: there is no terminal to answer at.
  ChildCommand command = {.words = {options_.program, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"},
                          .time_max = options_.time_max,
                          .output_bytes_max = kOutputBytesMax,
                          .with_errors = true};
  for (const std::string& option : options_.options) {
    command.words.emplace_back("-o");
    command.words.push_back(option);
  }
  for (absl::string_view word : {absl::string_view("--"), absl::string_view(host), absl::string_view(line)}) {
    command.words.emplace_back(word);
  }
  for (char** one = environ; *one != nullptr; ++one) command.environment.emplace_back(*one);
  PARITECT_ASSIGN_OR_RETURN(command.input, OpenInput(call));
  auto result = RunChild(command);
  close(command.input);
  PARITECT_RETURN_IF_ERROR(result.status());
  if (result->exit_code == 0) return std::move(result->output);
  const std::string said = Tail(result->output);
  if (result->exit_code == kSshFailed) {
    return absl::UnavailableError(absl::StrCat("not reached: ", said.empty() ? "ssh says nothing" : said));
  }
  return absl::FailedPreconditionError(
      said.empty() ? absl::StrCat("ended with ", result->exit_code, " and said nothing") : said);
}

}  // namespace paritect
