// The single looks of `paritect doctor`, each with its answer in words.
#ifndef PARITECT_CLIENT_REMOTE_DOCTOR_CHECKS_H_
#define PARITECT_CLIENT_REMOTE_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/remote/connection.h"

namespace paritect {

struct DoctorLine {
  std::string id;     // snake_case
  std::string state;  // ok | warning | error
  std::string message;
  std::string remedy;  // "" where there is nothing to do
};

// Which file, whose it is, how long it is valid, who may read it.
std::vector<DoctorLine> DiagnoseCredential(const Connection& connection, std::int64_t now_unix_ms);

// TLS with every address of the credential: one that does not answer is a warning while another does.
std::vector<DoctorLine> DiagnoseTls(const std::vector<TlsProbe>& probes, std::int64_t now_unix_ms);

// The server's time against the middle of the call. A certificate allows five minutes.
std::vector<DoctorLine> DiagnoseClock(std::int64_t server_unix_ms, std::int64_t before_unix_ms,
                                      std::int64_t after_unix_ms);

// `program`: "paritect-server 0.1.0". The same minor version is ok; a neighbour works, and warns.
std::vector<DoctorLine> DiagnoseVersions(absl::string_view program);

// Reads the whole log of calls and follows its chain. `head`: the end that the server keeps beside the log (number 0:
// not known); an entry that it names and the log does not hold was cut off.
std::vector<DoctorLine> DiagnoseLog(RemoteServer& server, const v1::LogHead& head);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_DOCTOR_CHECKS_H_
