#include "server/transport/enrolment_door.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "common/net/door_session.h"
#include "common/net/tcp_stream.h"
#include "common/pki/server_folder.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::int64_t kCertificateRefreshMs = 10'000;

// What TLS shows: the server's certificate up to the authority, which callers know by its pin alone. Read again where a
// file was replaced. Of the door's thread.
class WatchedContext {
 public:
  WatchedContext(std::string folder, WallClock clock) : folder_(std::move(folder)), clock_(std::move(clock)) {}

  absl::Status Load() {
    looked_ms_ = MonotonicMs();
    const std::string stamp = Stamp();
    if (context_ != nullptr && stamp == stamp_) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(const ServerFolder loaded, LoadServerFolder(folder_, clock_() / 1000));
    PARITECT_ASSIGN_OR_RETURN(context_, NewDoorContext(loaded.chain_pem, loaded.key_pem));
    stamp_ = stamp;
    return absl::OkStatus();
  }

  openssl::UniqueSsl NewSession() {
    // Half of a pair that is being replaced does not fit: the one before serves on.
    if (MonotonicMs() - looked_ms_ >= kCertificateRefreshMs) Load().IgnoreError();
    return openssl::UniqueSsl(SSL_new(context_.get()));
  }

 private:
  std::string Stamp() const {
    std::string stamp;
    for (const char* name : {"server.pem", "server.key", "ca.pem"}) {
      struct stat info = {};
      if (stat(absl::StrCat(folder_, "/", name).c_str(), &info) != 0) continue;
      absl::StrAppend(&stamp, info.st_ino, ":", info.st_size, ":", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ");
    }
    return stamp;
  }

  const std::string folder_;
  const WallClock clock_;
  std::string stamp_;
  std::int64_t looked_ms_ = 0;
  openssl::UniqueSslContext context_;
};

class Door final : public EnrolmentDoor {
 public:
  Door(std::unique_ptr<WatchedContext> context, Enrolment& enrolment, CallLog& log)
      : context_(std::move(context)),
        server_(DoorOptions(), DoorPorts([this] { return context_->NewSession(); },
                                         [&enrolment, &log](absl::string_view body, const std::string& address) {
                                           return AnswerAtDoor(body, address, enrolment, log);
                                         })) {}

  void Take(int descriptor, const std::string& address) override { server_.Take(descriptor, address); }
  void Stop() override { server_.Stop(); }

 private:
  const std::unique_ptr<WatchedContext> context_;
  OneShotServer server_;
};

}  // namespace

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
  auto context = std::make_unique<WatchedContext>(folder, std::move(clock));
  PARITECT_RETURN_IF_ERROR(context->Load());
  return std::unique_ptr<EnrolmentDoor>(std::make_unique<Door>(std::move(context), enrolment, log));
}

}  // namespace paritect
