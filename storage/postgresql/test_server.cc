#include "storage/postgresql/test_server.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/errno_status.h"
#include "storage/fleet_test_util.h"
#include "storage/postgresql/postgres.h"
#include "storage/postgresql/server_stores.h"

namespace paritect {
namespace {

constexpr absl::Duration kStartLimit = absl::Seconds(120);

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "PostgreSQL for tests: %s\n", what.c_str());
  std::exit(1);
}

// The newest that is installed; empty: none.
std::string ProgramFolder() {
  glob_t found = {};
  std::string folder;
  if (glob("/usr/lib/postgresql/*/bin/initdb", 0, nullptr, &found) == 0 && found.gl_pathc > 0) {
    const std::string program = found.gl_pathv[found.gl_pathc - 1];
    folder = program.substr(0, program.rfind('/'));
  }
  globfree(&found);
  return folder;
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::ifstream file(absl::StrCat("/proc/", parent, "/task/", parent, "/children"));
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

// What has ended and nobody has asked for counts as gone.
bool IsAlive(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/stat"));
  const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
}

}  // namespace

PostgresTestServer::PostgresTestServer() : programs_(ProgramFolder()) {}

PostgresTestServer& PostgresTestServer::Get() {
  static auto* const server = new PostgresTestServer();
  return *server;
}

// It refuses to run as root. It ends with this process, however that ends.
pid_t PostgresTestServer::Spawn(const std::string& program, const std::vector<std::string>& arguments) const {
  const std::string path = absl::StrCat(programs_, "/", program);
  const std::string log = absl::StrCat(folder_, "/log");
  std::vector<const char*> words = {path.c_str()};
  for (const std::string& word : arguments) words.push_back(word.c_str());
  words.push_back(nullptr);
  const passwd* nobody = getpwnam("nobody");
  const pid_t child = fork();
  if (child == -1) Fail(absl::StrCat("cannot fork: ", ErrnoText(errno)));  // kill(-1) would be meant for all there are
  if (child != 0) return child;
  if (geteuid() == 0 &&
      (nobody == nullptr || setgroups(0, nullptr) != 0 || setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0)) {
    _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(fd, 1);
  dup2(fd, 2);
  setenv("LC_ALL", "C", 1);
  execv(path.c_str(), const_cast<char* const*>(words.data()));
  _exit(127);
}

void PostgresTestServer::Begin() {
  std::string folder = "/tmp/paritect_pg_XXXXXX";  // short: a socket's path has at most 107 bytes
  if (mkdtemp(folder.data()) == nullptr) Fail("no temporary folder");
  folder_ = folder;
  const passwd* nobody = getpwnam("nobody");
  if (geteuid() == 0 && (nobody == nullptr || chown(folder_.c_str(), nobody->pw_uid, nobody->pw_gid) != 0)) {
    Fail("cannot give the folder to another user");
  }
  const pid_t child = Spawn("initdb", {"-D", absl::StrCat(folder_, "/data"), "-U", "paritect", "-A", "trust", "-N",
                                       "--no-locale", "-E", "UTF8"});
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) Fail(absl::StrCat("initdb failed: ", folder_, "/log"));
  Start();
}

void PostgresTestServer::Start() {
  const absl::Time until = absl::Now() + kStartLimit;
  const std::vector<std::string> arguments = {"-D", absl::StrCat(folder_, "/data"),
                                              "-k", folder_,
                                              "-c", "listen_addresses=",
                                              "-c", "fsync=off",
                                              "-c", "shared_buffers=16MB",
                                              "-c", "max_connections=60",
                                              "-c", "max_wal_size=256MB"};
  postmaster_ = Spawn("postgres", arguments);
  for (;;) {
    // After a crash it does not start before the last session of the one before is gone.
    int status = 0;
    if (waitpid(postmaster_, &status, WNOHANG) == postmaster_) postmaster_ = Spawn("postgres", arguments);
    if (PostgresConnection::Open(AddressIn(folder_, "postgres"), PostgresAccess::kReadWrite, "").ok()) return;
    if (absl::Now() > until) Fail(absl::StrCat("does not start: ", folder_, "/log"));
    absl::SleepFor(absl::Milliseconds(50));
  }
}

void PostgresTestServer::Kill() {
  // Its processes outlive it for a moment, in which they still commit: they end with it. Stopped, it starts no more.
  kill(postmaster_, SIGSTOP);
  const std::vector<pid_t> children = ChildrenOf(postmaster_);
  for (pid_t child : children) kill(child, SIGKILL);
  kill(postmaster_, SIGKILL);
  waitpid(postmaster_, nullptr, 0);
  for (pid_t child : children) {
    while (IsAlive(child)) absl::SleepFor(absl::Milliseconds(1));
  }
}

void PostgresTestServer::End() {
  kill(postmaster_, SIGQUIT);
  waitpid(postmaster_, nullptr, 0);
  if (std::system(absl::StrCat("rm -rf ", folder_).c_str()) != 0) Fail(absl::StrCat("cannot remove ", folder_));
}

std::string PostgresTestServer::AddressIn(absl::string_view folder, absl::string_view database) const {
  return absl::StrCat("postgresql://paritect@/", database, "?host=", absl::StrReplaceAll(folder, {{"/", "%2F"}}));
}

std::string PostgresTestServer::DatabaseOf(const std::string& address) {
  const std::size_t begin = address.find("@/") + 2;
  return address.substr(begin, address.find('?') - begin);
}

std::string PostgresTestServer::NewDatabase() {
  const std::string name = absl::StrCat("fleet", ++databases_);
  auto admin = PostgresConnection::Open(AddressIn(folder_, "postgres"), PostgresAccess::kReadWrite, "");
  if (!admin.ok()) Fail(admin.status().ToString());
  const absl::Status made = (*admin)->Execute(absl::StrCat("CREATE DATABASE ", name));
  if (!made.ok()) Fail(made.ToString());
  return AddressIn(folder_, name);
}

// Of postgresql_test: the contract of storage/fleet_store_test.cc over PostgreSQL.
std::vector<std::string> TestBackends() {
  return {"postgresql"};
}

std::string NewTestStore(const std::string&) {
  return PostgresTestServer::Get().NewDatabase();
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenTestStore(const std::string& uri) {
  return OpenServerStore(uri);
}

}  // namespace paritect

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  paritect::PostgresTestServer& server = paritect::PostgresTestServer::Get();
  if (!server.installed()) {
    std::puts("skipped: PostgreSQL is not installed (Debian: postgresql-15)");
    return 77;
  }
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  server.Begin();
  const int result = RUN_ALL_TESTS();
  server.End();
  return result;
}
