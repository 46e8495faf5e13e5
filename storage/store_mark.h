// How far a database has come, kept in a file of its own beside it (FILE.mark): the number of its newest commit,
// and the head of the log of calls. A commit is noted after it is durable, so the mark is never ahead of the
// database: where it is, the database has lost what was acknowledged (its write-ahead log gone, cut or damaged; an
// older copy put in its place), which nothing within it could tell.
//
// Two lines of one length, written in turn, each with its own CRC-32C: of a line that a crash cut short the other
// one stands.
#ifndef PARITECT_STORAGE_STORE_MARK_H_
#define PARITECT_STORAGE_STORE_MARK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct MarkedState {
  std::int64_t commits = 0;
  std::int64_t log_number = 0;  // of the newest entry of the log; 0: none
  std::string log_hash;         // raw SHA-256
};

// Not thread-safe: of the store's writer.
class StoreMark {
 public:
  static absl::StatusOr<StoreMark> Open(absl::string_view path);
  StoreMark(StoreMark&& other) noexcept;
  StoreMark& operator=(StoreMark&&) = delete;
  ~StoreMark();

  // As it stood when it was opened; nullopt: there was none, or it cannot be read.
  const std::optional<MarkedState>& found() const { return found_; }
  bool damaged() const { return damaged_; }

  // Survives the end of the process; of the machine after Sync.
  absl::Status Note(const MarkedState& state);
  absl::Status Sync() const;

 private:
  explicit StoreMark(int fd) : fd_(fd) {}
  int fd_;
  int next_line_ = 0;
  bool damaged_ = false;
  std::optional<MarkedState> found_;
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_STORE_MARK_H_
