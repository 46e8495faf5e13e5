// A part of a file mapped into memory for reading, of which a file that shrinks meanwhile makes zeros and a mark
// instead of a killed program.
#ifndef PARITECT_AGENT_DATASETS_MAPPED_WINDOW_H_
#define PARITECT_AGENT_DATASETS_MAPPED_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace paritect {

// Touching a page beyond the end of its file is SIGBUS. The first Map installs a handler for it, which puts zeros in
// the place of the window's rest and marks the window damaged; a SIGBUS elsewhere goes to whoever handled it before.
// One thread at a time for each window; several windows in several threads.
class MappedWindow {
 public:
  MappedWindow() = default;
  ~MappedWindow() { Unmap(); }
  MappedWindow(const MappedWindow&) = delete;
  MappedWindow& operator=(const MappedWindow&) = delete;

  // `offset` must be a multiple of the page size. ResourceExhausted: no address space, or too many windows: read
  // instead. What was mapped before is unmapped. `whole`: all of it is asked for at once, as is worth it from a disk.
  absl::Status Map(int fd, std::uint64_t offset, std::size_t bytes, bool whole);
  void Unmap();

  const unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Zeros were read in place of what is no longer there.
  bool damaged() const;

 private:
  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_MAPPED_WINDOW_H_
