// What the server's page asks and does, without HTTP: paths to calls. The page may do what the command line may: each
// call is checked against the same table of access and answered by the same code (server/operators.h).
#ifndef PARITECT_SERVER_PAGE_API_H_
#define PARITECT_SERVER_PAGE_API_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/call_log.h"
#include "server/operators.h"

namespace paritect {

struct PageCall {
  std::string method;  // "GET", "POST", "DELETE"
  std::string path;    // "/api/audits/resnet50/runs", decoded
  std::string body;    // JSON of the request, where the call takes one
  std::string actor;   // ROLE/NAME of the session
  std::string address;
};

class PageApi {
 public:
  PageApi(OperatorCalls& calls, CallLog& log) : calls_(calls), log_(log) {}

  // JSON text. NotFound: no such call; PermissionDenied: not with this role; else the errors of the calls. What is
  // asked again every second is not logged; whatever changes something is, and refusals are.
  absl::StatusOr<std::string> Answer(const PageCall& call);

 private:
  template <typename Request, typename Response>
  absl::StatusOr<std::string> Serve(const PageCall& call, absl::string_view name, absl::string_view subject,
                                    const Request& request,
                                    absl::StatusOr<Response> (OperatorCalls::*method)(const Request&,
                                                                                      const std::string&));
  absl::Status Admit(const PageCall& call, absl::string_view name, absl::string_view subject);
  absl::StatusOr<std::string> Read(const PageCall& call, const std::vector<std::string>& parts);
  absl::StatusOr<std::string> ReadAudit(const PageCall& call, const std::vector<std::string>& parts);
  absl::StatusOr<std::string> Write(const PageCall& call, const std::vector<std::string>& parts);
  absl::StatusOr<std::string> Report(const PageCall& call, const std::string& audit, std::int64_t number);
  absl::StatusOr<std::string> Live(const PageCall& call, const std::string& audit);

  OperatorCalls& calls_;
  CallLog& log_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_PAGE_API_H_
