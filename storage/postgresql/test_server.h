// A PostgreSQL for tests: started in a temporary folder, as another user where the test runs as root, gone with the
// test.
#ifndef PARITECT_STORAGE_POSTGRESQL_TEST_SERVER_H_
#define PARITECT_STORAGE_POSTGRESQL_TEST_SERVER_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

class PostgresTestServer {
 public:
  // Of this process; not started where there is no PostgreSQL (installed() then is false).
  static PostgresTestServer& Get();
  bool installed() const { return !programs_.empty(); }

  // Makes the folder and starts it. Fails the process where that does not work.
  void Begin();
  void End();
  void Kill();   // as a crash: SIGKILL
  void Start();  // after Kill; returns when it answers

  std::string NewDatabase();  // its address
  // The same database through another folder with a socket (a proxy's).
  std::string AddressIn(absl::string_view folder, absl::string_view database) const;
  static std::string DatabaseOf(const std::string& address);
  const std::string& socket_folder() const { return folder_; }

 private:
  PostgresTestServer();
  pid_t Spawn(const std::string& program, const std::vector<std::string>& arguments) const;

  std::string programs_;  // the folder with initdb and postgres
  std::string folder_;
  pid_t postmaster_ = 0;
  int databases_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_POSTGRESQL_TEST_SERVER_H_
