// The numbers that must outlive the process: epoch, reservation, low-water mark, end. Two files:
// `state` has two equal slots, each synced in turn: one damaged or torn slot costs nothing, and a reservation counts
// only when both hold it. `mark` is written after every commit and not synced: it survives the end of the process, and
// after a power failure it is at worst old or torn. It only ever raises what is known.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_STATE_H_
#define PARITECT_AGENT_SPOOL_SPOOL_STATE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/spool_format.h"
#include "agent/spool/spool_io.h"

namespace paritect {

class SpoolState {
 public:
  struct Loaded {
    // What both files say together. Nothing where `state` is missing, damaged twice or in two minds about the epoch.
    std::optional<spool_format::Slot> slot;
    // What `mark` alone says, for whoever finds the epoch elsewhere.
    std::optional<spool_format::Slot> mark;
    bool whole = false;  // nothing needs mending
  };

  SpoolState(std::string directory, SpoolIo& io, bool sync) : directory_(std::move(directory)), io_(io), sync_(sync) {}

  absl::StatusOr<Loaded> Load();
  // Durable when it returns OK. Makes the file if need be.
  absl::Status Save(const spool_format::Slot& slot);
  // The files were taken away: both are made anew.
  void Forget() {
    state_.reset();
    mark_.reset();
    first_to_write_ = 0;
  }
  // Not durable. An error costs only exactness after a crash.
  absl::Status Mark(const spool_format::Slot& slot);

 private:
  absl::Status Create();

  const std::string directory_;
  SpoolIo& io_;
  const bool sync_;
  std::unique_ptr<SpoolFile> state_;
  int first_to_write_ = 0;  // the slot that may be damaged, so that the other holds until this one does
  std::unique_ptr<SpoolFile> mark_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_STATE_H_
