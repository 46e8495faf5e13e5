#include "server/transport/enrolment_door.h"

#include "absl/strings/str_cat.h"
#include "common/net/door_session.h"
#include "common/status_macros.h"
#include "server/transport/watched_context.h"

namespace paritect {
namespace {

class Door final : public EnrolmentDoor {
 public:
  Door(std::unique_ptr<WatchedContext> context, Enrolment& enrolment, CallLog& log)
      : context_(std::move(context)),
        server_(DoorOptions(), DoorPorts([this] { return context_->NewSession(); },
                                         [&enrolment, &log](absl::string_view body, const std::string& address) {
                                           return AnswerAtDoor(body, address, enrolment, log);
                                         },
                                         [&log](const std::string& address, const std::string& why) {
                                           LogRefusedHandshake(address, why, log);
                                         })) {}

  void Take(int descriptor, const std::string& address) override { server_.Take(descriptor, address); }
  void Stop() override { server_.Stop(); }

 private:
  const std::unique_ptr<WatchedContext> context_;
  OneShotServer server_;
};

}  // namespace

void LogRefusedHandshake(const std::string& address, const std::string& why, CallLog& log) {
  log.Write({.actor = absl::StrCat("-/", address), .address = address, .action = "Connection"},
            absl::PermissionDeniedError(why));
}

std::string AnswerAtDoor(absl::string_view request, const std::string& address, Enrolment& enrolment, CallLog& log) {
  v1::DoorAnswer answer;
  v1::JoinRequest join;
  absl::Status status = absl::InvalidArgumentError("this is no request to join; update the older of the two programs");
  if (join.ParseFromArray(request.data(), static_cast<int>(request.size()))) {
    auto joined = enrolment.Join(join, address);
    status = joined.status();
    if (joined.ok()) *answer.mutable_joined() = *std::move(joined);
  }
  if (!status.ok()) {
    log.Write({.actor = absl::StrCat("-/", address), .address = address, .action = "Join", .subject = join.name()},
              status);
  }
  answer.set_code(static_cast<int>(status.code()));
  answer.set_message(std::string(status.message()));
  return answer.SerializeAsString();
}

absl::StatusOr<std::unique_ptr<EnrolmentDoor>> OpenEnrolmentDoor(const std::string& folder, WallClock clock,
                                                                 Enrolment& enrolment, CallLog& log) {
  auto context = std::make_unique<WatchedContext>(folder, std::move(clock), [](const ServerFolder& loaded) {
    return NewDoorContext(loaded.chain_pem, loaded.key_pem);
  });
  PARITECT_RETURN_IF_ERROR(context->Load());
  return std::unique_ptr<EnrolmentDoor>(std::make_unique<Door>(std::move(context), enrolment, log));
}

}  // namespace paritect
