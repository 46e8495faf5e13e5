#include "agent/uplink/grpc_transport.h"

#include <grpcpp/grpcpp.h>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "agent/uplink/grpc_channel.h"
#include "paritect/v1/agents.grpc.pb.h"

namespace paritect {
namespace {

// One session. A read is always under way; writes come from the uplink's thread, one at a time. The hold keeps the call
// from ending while a write might still be started (grpcpp/support/client_callback.h, AddHold).
class GrpcStream final : public UplinkStream, public grpc::ClientBidiReactor<v1::AgentMessage, v1::ServerMessage> {
 public:
  GrpcStream(const std::string& server, const TlsFiles& tls, StreamEvents& events)
      : server_(server), began_(absl::Now()), events_(events), stub_(v1::Agents::NewStub(OpenChannel(server, tls))) {
    stub_->async()->Session(&context_, this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  ~GrpcStream() override {
    context_.TryCancel();
    done_.WaitForNotification();
  }

  void Write(v1::AgentMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (!open_) return;  // OnClosed is on its way
    outgoing_ = std::move(message);
    writing_ = true;
    StartWrite(&outgoing_);
  }

  void CloseWrites() override {
    absl::MutexLock lock(&mutex_);
    if (!open_ || closing_) return;
    closing_ = true;
    if (!writing_) StartWritesDone();
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      events_.OnMessage(std::move(incoming_));
      incoming_.Clear();
      StartRead(&incoming_);
      return;
    }
    {
      absl::MutexLock lock(&mutex_);
      open_ = false;
    }
    RemoveHold();
  }

  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (ok && open_ && closing_) StartWritesDone();
    }
    if (ok) events_.OnWritten();
  }

  void OnDone(const grpc::Status& status) override {
    events_.OnClosed(FromGrpc(status, server_, began_));
    done_.Notify();
  }

 private:
  const std::string server_;
  const absl::Time began_;
  StreamEvents& events_;
  const std::unique_ptr<v1::Agents::Stub> stub_;
  grpc::ClientContext context_;
  v1::ServerMessage incoming_;
  v1::AgentMessage outgoing_;
  absl::Notification done_;
  absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<UplinkStream> GrpcTransport::Open(const std::string& server, StreamEvents& events) {
  TlsFiles tls;
  {
    absl::MutexLock lock(&mutex_);
    tls = tls_;
  }
  return std::make_unique<GrpcStream>(server, tls, events);
}

void GrpcTransport::SetTls(TlsFiles tls) {
  absl::MutexLock lock(&mutex_);
  tls_ = std::move(tls);
}

}  // namespace paritect
