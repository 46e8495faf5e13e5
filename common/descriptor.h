// A file descriptor that closes itself.
#ifndef PARITECT_COMMON_DESCRIPTOR_H_
#define PARITECT_COMMON_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace paritect {

// Negative: none, as the system calls that open one say.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_DESCRIPTOR_H_
