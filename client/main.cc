// paritect: the client. Everything is in the library; this only meets the process.
#include <malloc.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "client/command.h"
#include "client/remote/grpc_server.h"
#include "common/file_system.h"
#include "common/rooted_file_system.h"
#include "rules/rules_folder.h"

namespace {

// A command lives for seconds and gives little back before its end: memory comes in pieces that the kernel maps at
// once, which is two fifths of the time of reading a long log.
void TakeMemoryInLargePieces() {
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

std::string GetEnv(absl::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? "" : value;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts;
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

int TerminalColumns() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 110;  // wide enough for the titles of the matrix
}

paritect::TerminalSize ProgressSize() {
  winsize size = {};
  paritect::TerminalSize result;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_row > 0) result.rows = size.ws_row;
  if (size.ws_col > 0) result.columns = size.ws_col;
  return result;
}

// Whether the reader of standard output has gone (`paritect check … | head -1`).
bool ReaderHasGone() {
  pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  TakeMemoryInLargePieces();
  std::ios::sync_with_stdio(false);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves must not cost the files named with -o
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (const absl::Status status = paritect::TakeRulesOption(paritect::PosixFileSystem(), arguments); !status.ok()) {
    std::cerr << "paritect: " << status.message() << "\n";
    return 2;
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const paritect::LiveNode live = paritect::ThisNode();
  paritect::CommandEnv env = {.fs = paritect::PosixFileSystem(),
                              .out = std::cout,
                              .err = std::cerr,
                              .rules = paritect::BuiltInRules(),
                              .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                              .err_is_terminal = isatty(STDERR_FILENO) == 1,
                              .terminal_columns = TerminalColumns(),
                              .host_name = host,
                              .today = Today(),
                              .getenv = &GetEnv,
                              .live = &live,
                              .working_directory = paritect::WorkingDirectory(),
                              .progress_size = &ProgressSize,
                              .connector = &paritect::GrpcConnector()};
  const paritect::ExitCode code = paritect::RunCommandLine(env, arguments);
  std::cout.flush();
  if (std::cout.good() || ReaderHasGone()) return code;
  // A full disk must not look like success.
  std::cerr << "paritect: standard output cannot be written\n";
  return paritect::kExitInternal;
}
