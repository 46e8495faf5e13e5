// Bytes that a reader of checkpoints may ask for anywhere: a file, a part of one, or a text in memory. Files may be of
// any size and may be written to meanwhile: nothing is mapped, nothing is read whole, and a change is told as such.
#ifndef PARITECT_FORMATS_WEIGHTS_RANDOM_BYTES_H_
#define PARITECT_FORMATS_WEIGHTS_RANDOM_BYTES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_system.h"

namespace paritect {

// Not thread-safe.
class RandomBytes {
 public:
  virtual ~RandomBytes() = default;

  // Of what it was when it was opened.
  std::uint64_t size() const { return size_; }
  // For messages.
  const std::string& name() const { return name_; }

  // Fills all of `buffer` from `offset` on. DataLoss: the range is not there; Aborted: the file changed while it was
  // read.
  absl::Status Read(std::uint64_t offset, absl::Span<char> buffer);
  // `length` bytes in memory; ResourceExhausted above `length_max`.
  absl::StatusOr<std::string> ReadText(std::uint64_t offset, std::uint64_t length, std::uint64_t length_max);
  // Aborted: the file is not what it was when it was opened. To be asked after the last byte was read.
  virtual absl::Status CheckUnchanged() { return absl::OkStatus(); }
  // The descriptor of the whole file, for handing it to a child process; -1: none, or only a part of a file.
  virtual int Descriptor() const { return -1; }

 protected:
  RandomBytes(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}

 private:
  // The range is inside.
  virtual absl::Status ReadInside(std::uint64_t offset, absl::Span<char> buffer) = 0;

  std::string name_;
  std::uint64_t size_;
};

using SharedBytes = std::shared_ptr<RandomBytes>;

// NotFound, PermissionDenied, FailedPrecondition (no regular file) as of FileSystem::Open.
absl::StatusOr<SharedBytes> OpenRandomBytes(FileSystem& fs, const std::string& path);
// Reads no byte outside [offset, offset + size). DataLoss: `whole` ends before.
absl::StatusOr<SharedBytes> PartOfBytes(SharedBytes whole, std::uint64_t offset, std::uint64_t size);
SharedBytes BytesInMemory(std::string name, std::string bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_RANDOM_BYTES_H_
