// A remedy for gRPC 1.51, to be called before its first channel.
//
// Between connect() and a look at its errno, gRPC makes other calls. One of them may be the first that has to wait for
// an Abseil mutex in this process; Abseil then reads the processor's frequency from a kernel file that most machines do
// not have, and leaves ENOENT in errno: the connection that is under way is reported as "No such file or directory".
// What Abseil does only once is done here. Source: gRPC's pull request 35064, which keeps the errno.
#ifndef PARITECT_COMMON_NET_SETTLE_ERRNO_H_
#define PARITECT_COMMON_NET_SETTLE_ERRNO_H_

namespace paritect {

void SettleErrno();

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_SETTLE_ERRNO_H_
