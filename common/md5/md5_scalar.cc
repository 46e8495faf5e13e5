// One stream: OpenSSL's own code, which is the fastest there is for it.
// The low-level interface is deprecated but the only one that lets a chaining state in and out; it is MD5 the
// arithmetic, which no FIPS setting of a machine switches off.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>

#include "common/md5/md5_lanes.h"

namespace paritect {

void Md5RunScalar(Md5Lane& lane, std::size_t blocks) {
  MD5_CTX context = {};
  context.A = lane.state.words[0];
  context.B = lane.state.words[1];
  context.C = lane.state.words[2];
  context.D = lane.state.words[3];
  MD5_Update(&context, lane.data, blocks * kMd5BlockBytes);
  lane.state.words[0] = context.A;
  lane.state.words[1] = context.B;
  lane.state.words[2] = context.C;
  lane.state.words[3] = context.D;
  lane.data += blocks * kMd5BlockBytes;
}

}  // namespace paritect
