// Hands a connection over without working for it.
//
// Who gives gRPC 1.51 a connection on which bytes wait already does gRPC's reading on his own thread, and goes on with
// it for as long as more arrive: the handshake, and all of HTTP/2 after it. One caller who never pauses so kept the
// listener's thread, which then took nobody in and counted nobody's bytes (seen: 2 GiB of headers of one connection).
// While the hold lasts the kernel shows the connection as one that has nothing to read; its end tells gRPC's own
// threads.
#ifndef PARITECT_COMMON_NET_READ_HOLD_H_
#define PARITECT_COMMON_NET_READ_HOLD_H_

#include "absl/strings/string_view.h"

namespace paritect {

// Does nothing where the kernel would not tell at the end of the hold.
class ReadHold {
 public:
  explicit ReadHold(int descriptor);
  ~ReadHold();
  ReadHold(const ReadHold&) = delete;
  ReadHold& operator=(const ReadHold&) = delete;

 private:
  const int descriptor_;
};

// Whether a kernel of this release ("6.1.0-13-amd64") wakes readers when SO_RCVLOWAT is lowered: 4.18 and later
// (Linux, "tcp: fix SO_RCVLOWAT and RCVBUF autotuning").
bool WakesWhenHoldEnds(absl::string_view kernel_release);

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_READ_HOLD_H_
