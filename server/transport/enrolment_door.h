// Where strangers join: TLS of our own with one bounded request, so that of gRPC nothing is within their reach.
#ifndef PARITECT_SERVER_TRANSPORT_ENROLMENT_DOOR_H_
#define PARITECT_SERVER_TRANSPORT_ENROLMENT_DOOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/call_log.h"
#include "server/enrolment.h"
#include "server/wall_clock.h"

namespace paritect {

class EnrolmentDoor {
 public:
  virtual ~EnrolmentDoor() = default;
  // Owns the descriptor. Any thread.
  virtual void Take(int descriptor, const std::string& address) = 0;
  // Hangs up on everybody. Idempotent.
  virtual void Stop() = 0;
};

// `folder`: whose certificates are watched. The others outlive it.
absl::StatusOr<std::unique_ptr<EnrolmentDoor>> OpenEnrolmentDoor(const std::string& folder, WallClock clock,
                                                                 Enrolment& enrolment, CallLog& log);

// What the door answers to the bytes of one request.
std::string AnswerAtDoor(absl::string_view request, const std::string& address, Enrolment& enrolment, CallLog& log);

// A stranger was hung up on before it could ask: told with its address, at most once a second.
void LogRefusedHandshake(const std::string& address, const std::string& why, CallLog& log);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_ENROLMENT_DOOR_H_
