// Answers one bounded request a connection, in plain or over TLS, on one thread: for what strangers may ask.
//
// Everything about a caller is bounded: its bytes, its time from arrival to the last byte of the answer, how many there
// are at once. When there are too many the oldest goes: who asks at once is served however many dawdle. Where some are
// answered in plain, these are first; of the others, whose answers may be dear, one is answered at a time, and no
// address twice while another waits.
#ifndef PARITECT_COMMON_NET_ONE_SHOT_SERVER_H_
#define PARITECT_COMMON_NET_ONE_SHOT_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/pki/openssl.h"

namespace paritect {

struct OneShotOptions {
  int callers_max = 256;
  int callers_per_address_max = 64;
  std::size_t request_bytes_max = 64 << 10;
  std::int64_t time_ms = 10'000;
};

// Who asks.
struct OneShotPeer {
  std::string address;
  std::string certificate_pem = {};  // that it showed and the handshake verified; "": none
};

// Called on the server's thread.
struct OneShotPorts {
  // Whether this is a whole request. An error hangs up.
  std::function<absl::StatusOr<bool>(absl::string_view received)> whole;
  // The bytes to send before hanging up.
  std::function<std::string(absl::string_view request, const OneShotPeer& peer)> answer;
  // A session for a new caller, nullptr: hang up. Empty: no TLS.
  std::function<openssl::UniqueSsl()> tls = {};
  // With `tls`: of a caller whose first byte is none of TLS; empty: such a caller is hung up on.
  std::function<std::string(absl::string_view request, const OneShotPeer& peer)> answer_plain = {};
  // Of a caller whose TLS handshake failed; may be empty.
  std::function<void(const std::string& address, const std::string& why)> refused = {};
};

class OneShotServer {
 public:
  OneShotServer(OneShotOptions options, OneShotPorts ports);
  ~OneShotServer();
  OneShotServer(const OneShotServer&) = delete;
  OneShotServer& operator=(const OneShotServer&) = delete;

  // Owns the descriptor, which does not block. Any thread.
  void Take(int descriptor, const std::string& address);
  // Hangs up on everybody. Idempotent.
  void Stop();
  int callers() const { return callers_count_; }

 private:
  struct Caller {
    int descriptor = -1;
    std::string address;
    std::int64_t deadline_ms = 0;
    openssl::UniqueSsl ssl;
    bool shaken = false;
    bool sniffed = false;
    bool plain = false;  // no TLS, though others have it
    bool ready = false;  // it said all, and waits for its turn
    std::string received;
    std::string answer;
    std::size_t sent = 0;
    short wants = 0;  // NOLINT(google-runtime-int): poll's type
    bool over = false;
  };

  void Loop();
  void Adopt();
  void MakeRoom(const std::string& address);
  void Advance(Caller& caller);
  void Look(Caller& caller, short seen);  // NOLINT(google-runtime-int): poll's type
  void Answer(Caller& caller);
  bool AnswerNext();
  bool Shake(Caller& caller);
  bool Sniff(Caller& caller);
  bool Read(Caller& caller);
  void Write(Caller& caller);
  void Wait(Caller& caller, int ssl_error);
  static void Close(Caller& caller);

  const OneShotOptions options_;
  const OneShotPorts ports_;
  int wake_[2] = {-1, -1};
  absl::Mutex mutex_;
  std::vector<std::pair<int, std::string>> arrived_ ABSL_GUARDED_BY(mutex_);
  std::list<Caller> callers_;  // of the loop's thread, the oldest first
  // When an address was last answered, in turns: of those that are here now.
  std::map<std::string, std::uint64_t> answered_;
  std::uint64_t turn_ = 0;
  std::atomic<int> callers_count_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_ONE_SHOT_SERVER_H_
