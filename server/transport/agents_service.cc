#include "server/transport/agents_service.h"

#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using Stream = grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>;

// An agent that does not read is not served for ever.
constexpr std::size_t kUnsentMax = 10'000;

// One session. gRPC owns it until OnDone; the fleet holds the link, which outlives it.
class SessionReactor final : public Stream {
 public:
  SessionReactor(Fleet& fleet, const Gate& gate, Caller caller)
      : fleet_(fleet), gate_(gate), caller_(std::move(caller)), link_(std::make_shared<Link>(this)) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(absl::OkStatus());
    if (absl::Status still = gate_.StillGood(caller_); !still.ok()) return Finish(std::move(still));
    if (opened_) {
      fleet_.Receive(session_, incoming_);
    } else if (!Open()) {
      return;  // what comes behind a wrong beginning is not read
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override { link_->Written(ok); }
  void OnCancel() override { Finish(absl::CancelledError("the agent hung up")); }

  void OnDone() override {
    link_->Detach();
    if (opened_) fleet_.Closed(session_);
    delete this;
  }

 private:
  // Sends in order and ends the stream once. Its mutex is never held while the fleet is called.
  class Link final : public AgentLink {
   public:
    explicit Link(SessionReactor* reactor) : reactor_(reactor) {}

    void Send(const v1::ServerMessage& message) override {
      absl::MutexLock lock(&mutex_);
      if (reactor_ == nullptr || closing_) return;
      if (unsent_.size() >= kUnsentMax) return CloseLocked(absl::ResourceExhaustedError("the agent does not read"));
      unsent_.push_back(message);
      if (unsent_.size() == 1) reactor_->StartWrite(&unsent_.front());
    }

    void Close(absl::Status why) override {
      absl::MutexLock lock(&mutex_);
      CloseLocked(std::move(why));
    }

    void Written(bool ok) {
      absl::MutexLock lock(&mutex_);
      unsent_.pop_front();
      if (reactor_ == nullptr) return;
      if (!ok) unsent_.clear();
      if (!unsent_.empty()) {
        reactor_->StartWrite(&unsent_.front());
      } else if (closing_) {
        FinishLocked();
      }
    }

    void Detach() {
      absl::MutexLock lock(&mutex_);
      reactor_ = nullptr;
    }

   private:
    void CloseLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (reactor_ == nullptr || closing_) return;
      closing_ = true;
      why_ = std::move(why);
      // What is being written is let out; the rest is of no use to an agent that must come again.
      while (unsent_.size() > 1) unsent_.pop_back();
      if (unsent_.empty()) FinishLocked();
    }

    void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (finished_) return;
      finished_ = true;
      static_cast<Stream*>(reactor_)->Finish(ToGrpc(why_));
    }

    absl::Mutex mutex_;
    SessionReactor* reactor_ ABSL_GUARDED_BY(mutex_);
    std::deque<v1::ServerMessage> unsent_ ABSL_GUARDED_BY(mutex_);  // the first is being written
    bool closing_ ABSL_GUARDED_BY(mutex_) = false;
    bool finished_ ABSL_GUARDED_BY(mutex_) = false;
    absl::Status why_ ABSL_GUARDED_BY(mutex_);
  };

  void Finish(absl::Status why) { link_->Close(std::move(why)); }

  bool Open() {
    const std::string& node = caller_.peer->identity.name;
    if (!incoming_.has_hello()) {
      Finish(absl::InvalidArgumentError("a session begins with a hello"));
      return false;
    }
    auto session = fleet_.Open(node, incoming_.hello(), link_, caller_.address);
    gate_.Log(caller_, "Session", node, session.status(),
              DisplayBytes(absl::string_view(incoming_.hello().program()).substr(0, kProgramBytesMax)));
    if (!session.ok()) {
      Finish(session.status());
      return false;
    }
    session_ = *session;
    opened_ = true;
    return true;
  }

  Fleet& fleet_;
  const Gate& gate_;
  const Caller caller_;
  const std::shared_ptr<Link> link_;
  v1::AgentMessage incoming_;
  Fleet::SessionId session_ = 0;
  bool opened_ = false;
};

// A stream that is refused before it begins.
class RefusedReactor final : public Stream {
 public:
  explicit RefusedReactor(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerUnaryReactor* AgentsService::Renew(grpc::CallbackServerContext* context, const v1::RenewRequest* request,
                                               v1::JoinResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto caller = gate_.Admit(*context, "/paritect.v1.Agents/Renew");
  if (!caller.ok()) {
    reactor->Finish(ToGrpc(caller.status()));
    return reactor;
  }
  auto renewed = enrolment_.Renew(caller->peer->identity, *request, caller->address);
  if (renewed.ok()) {
    *response = *std::move(renewed);
  } else {
    gate_.Log(*caller, "Renew", caller->peer->identity.name, renewed.status());
  }
  reactor->Finish(ToGrpc(renewed.status()));
  return reactor;
}

grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>* AgentsService::Session(
    grpc::CallbackServerContext* context) {
  auto caller = gate_.Admit(*context, "/paritect.v1.Agents/Session", false);
  if (!caller.ok()) return new RefusedReactor(caller.status());
  return new SessionReactor(fleet_, gate_, *std::move(caller));
}

}  // namespace paritect
