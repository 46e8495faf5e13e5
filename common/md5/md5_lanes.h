// MD5 (RFC 1321) of many messages at once: one message a lane of the processor's vectors.
//
// One MD5 stream is a serial chain of 64 steps a block and cannot go faster than about 0.5 GB/s a core; sixteen or
// sixty-four streams side by side go several times as fast together. Which vectors are used is found out when the
// program runs (AVX-512, AVX2, SSE4, NEON; elsewhere one stream after the other). All of them give the same
// bytes.
#ifndef PARITECT_COMMON_MD5_MD5_LANES_H_
#define PARITECT_COMMON_MD5_MD5_LANES_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace paritect {

inline constexpr std::size_t kMd5BlockBytes = 64;
inline constexpr std::size_t kMd5Bytes = 16;
inline constexpr int kMd5LanesMax = 64;

// The chaining state after a whole number of blocks: all that is needed to go on from there.
struct Md5State {
  std::uint32_t words[4] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  friend bool operator==(const Md5State&, const Md5State&) = default;
};

// One message's part of a call of Md5RunLanes.
struct Md5Lane {
  Md5State state;
  const unsigned char* data = nullptr;  // moved on by what was hashed
};

// Hashes `blocks` blocks of each lane. At most kMd5LanesMax lanes; Md5Lanes() of them is the most that gains.
// Thread-safe for different lanes. A single lane is left to OpenSSL, and so are few, one after the other, where this
// processor is faster so: a wide vector for two streams may lose to one of them at a time.
void Md5RunLanes(absl::Span<Md5Lane> lanes, std::size_t blocks);

// The same by vectors, whatever they gain: what tests compare.
void Md5RunVectors(absl::Span<Md5Lane> lanes, std::size_t blocks);

// How many lanes keep this processor busy: 64 with AVX-512, 24 with AVX2, 16 with NEON, 8 with SSE4, else 1.
int Md5Lanes();

// "AVX3", "AVX2", "NEON", ...: the vectors that are used.
const char* Md5LanesTarget();

// Writes the padding after a message of `message_bytes` whose last, partial block stands in `block` (its first
// message_bytes % 64 bytes). `block` has room for 128 bytes. Gives the number of blocks to hash: 1 or 2.
std::size_t Md5Pad(unsigned char* block, std::uint64_t message_bytes);

// The digest: the words in little-endian order.
void Md5Digest(const Md5State& state, unsigned char* digest);

// The same by OpenSSL's scalar code: one lane.
void Md5RunScalar(Md5Lane& lane, std::size_t blocks);

}  // namespace paritect

#endif  // PARITECT_COMMON_MD5_MD5_LANES_H_
