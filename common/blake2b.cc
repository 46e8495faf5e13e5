#include "common/blake2b.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace paritect {
namespace {

constexpr std::size_t kBlockBytes = 128;
constexpr std::size_t kDigestBytes = 16;

// RFC 7693, 2.6 and 2.7.
constexpr std::array<std::uint64_t, 8> kStart = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr std::uint8_t kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

using Words = std::array<std::uint64_t, 16>;

void Mix(Words& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint64_t x, std::uint64_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

// One block, filled up with zeros; `through`: bytes up to its end.
void Compress(absl::string_view block, std::uint64_t through, bool last, std::array<std::uint64_t, 8>& state) {
  Words m = {}, v = {};
  for (std::size_t i = 0; i < block.size(); ++i) {
    m[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(block[i])) << (i % 8 * 8);
  }
  std::copy(state.begin(), state.end(), v.begin());
  std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
  v[12] ^= through;
  if (last) v[14] = ~v[14];
  for (std::size_t round = 0; round < 12; ++round) {
    const std::uint8_t* const s = kOrder[round % 10];
    Mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    Mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    Mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    Mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    Mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    Mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    Mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    Mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
  }
  for (std::size_t i = 0; i < state.size(); ++i) state[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

std::string Blake2b128(absl::string_view bytes) {
  std::array<std::uint64_t, 8> state = kStart;
  state[0] ^= 0x01010000 ^ kDigestBytes;
  std::uint64_t through = 0;
  while (bytes.size() > kBlockBytes) {
    through += kBlockBytes;
    Compress(bytes.substr(0, kBlockBytes), through, false, state);
    bytes.remove_prefix(kBlockBytes);
  }
  Compress(bytes, through + bytes.size(), true, state);
  std::string digest;
  for (std::size_t i = 0; i < kDigestBytes; ++i) digest.push_back(static_cast<char>(state[i / 8] >> (i % 8 * 8)));
  return digest;
}

}  // namespace paritect
