// A disk in memory for tests: every call can be made to fail, the power can go at any call, and then what was not
// synced is kept, lost or torn at a random byte, names included. Thread-safe.
#ifndef PARITECT_AGENT_SPOOL_FAULT_DISK_H_
#define PARITECT_AGENT_SPOOL_FAULT_DISK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/spool/spool_io.h"

namespace paritect {

class FaultDisk : public SpoolIo {
 public:
  enum class Fault {
    kPowerLoss,  // the call happens in part or not at all, and nothing works until Restart()
    kNoSpace,    // ResourceExhausted; a write may be there in part. Only calls that need space fail
    kIoError,    // Unavailable; a sync loses what it should have written although reads go on showing it
  };

  explicit FaultDisk(std::uint64_t seed) : random_(seed * 2 + 1) {}

  // The `call`-th call from now (1 is the next) fails, and `times - 1` after it.
  void FailAt(std::uint64_t call, Fault fault, std::uint64_t times = 1);
  void FailNever();
  std::uint64_t calls() const;  // so far
  bool dead() const;
  // After a power failure, or to make one: what was not synced meets its fate.
  void Restart();
  void SetCapacity(std::uint64_t bytes);  // of all files together

  // The files as a reader sees them, for tests that damage them.
  std::map<std::string, std::string> Files() const;
  void SetFiles(const std::map<std::string, std::string>& files);  // all of them, synced

  absl::Status MakeDirectory(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> List(absl::string_view directory) override;
  absl::StatusOr<std::unique_ptr<SpoolFile>> Open(absl::string_view path, OpenMode mode) override;
  absl::Status Remove(absl::string_view path) override;
  absl::Status SyncDirectory(absl::string_view directory) override;
  absl::StatusOr<std::unique_ptr<SpoolLock>> Lock(absl::string_view path) override;
  absl::StatusOr<std::uint64_t> Random() override;

 private:
  friend class FaultFile;
  friend class FaultLock;

  struct Operation {
    bool truncate = false;
    std::uint64_t offset = 0;  // or the new size
    std::string bytes;
  };
  struct Inode {
    std::string content;             // as seen
    std::string durable;             // as it is on the platter
    std::vector<Operation> pending;  // from durable to content
  };

  enum class CallKind { kRead, kWrite, kSync, kName };
  // Counts a call; the fault it must suffer, if any.
  absl::Status Enter(CallKind kind, bool& partly) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint64_t Below(std::uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Apply(const Operation& operation, std::string& content);
  void Do(Inode& inode, Operation operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint64_t Used() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::uint64_t random_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Inode>> names_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Inode>> durable_names_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> locked_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t fail_from_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: never
  std::uint64_t fail_to_ ABSL_GUARDED_BY(mutex_) = 0;
  Fault fault_ ABSL_GUARDED_BY(mutex_) = Fault::kPowerLoss;
  bool dead_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // of restarts: older files are dead
  std::uint64_t capacity_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_FAULT_DISK_H_
