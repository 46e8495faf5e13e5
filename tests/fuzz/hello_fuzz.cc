// What anybody can send before there is any trust: the first message of TLS, and the frames at the enrolment door.
#include <string>

#include "common/net/ask_door.h"
#include "common/net/client_hello.h"
#include "common/net/door_protocol.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  const PeekedHello hello = PeekHello(bytes);
  FuzzCheck(hello.kind == PeekedHello::Kind::kWhole || hello.protocols.empty(), "only a whole hello offers something");
  if (hello.kind == PeekedHello::Kind::kWhole) {
    const PeekedHello more = PeekHello(std::string(bytes) + "x");
    FuzzCheck(more.kind == hello.kind && more.protocols == hello.protocols && more.random == hello.random,
              "what follows a hello changes nothing");
  }
  const auto body = BodyOfFrame(bytes, kDoorRequestBytesMax);
  if (body.ok() && *body) FuzzCheck(Frame(**body) == bytes, "a frame survives being read");
  ReadDoorAnswer(bytes).status().IgnoreError();
  return 0;
}
