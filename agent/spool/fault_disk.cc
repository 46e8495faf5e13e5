#include "agent/spool/fault_disk.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"

namespace paritect {

class FaultFile : public SpoolFile {
 public:
  FaultFile(FaultDisk& disk, std::shared_ptr<FaultDisk::Inode> inode, std::uint64_t generation)
      : disk_(disk), inode_(std::move(inode)), generation_(generation) {}

  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) override {
    absl::MutexLock lock(&disk_.mutex_);
    if (const absl::Status status = Enter(FaultDisk::CallKind::kRead); !status.ok()) return status;
    const std::string& content = inode_->content;
    if (offset >= content.size()) return std::size_t{0};
    return content.copy(buffer.data(), buffer.size(), static_cast<std::size_t>(offset));
  }

  absl::Status WriteAt(std::uint64_t offset, absl::string_view bytes) override {
    absl::MutexLock lock(&disk_.mutex_);
    absl::Status status = Enter(FaultDisk::CallKind::kWrite);
    const std::uint64_t end = offset + bytes.size();
    const std::uint64_t more = end > inode_->content.size() ? end - inode_->content.size() : 0;
    if (status.ok() && more > 0 && disk_.Used() + more > disk_.capacity_) {
      status = absl::ResourceExhaustedError("write: the disk is full");
      partly_ = true;
    }
    if (!status.ok() && !partly_) return status;
    if (!status.ok()) bytes = bytes.substr(0, static_cast<std::size_t>(disk_.Below(bytes.size() + 1)));
    FaultDisk::Operation operation;
    operation.offset = offset;
    operation.bytes = std::string(bytes);
    disk_.Do(*inode_, std::move(operation));
    return status;
  }

  absl::Status Truncate(std::uint64_t size_bytes) override {
    absl::MutexLock lock(&disk_.mutex_);
    const absl::Status status = Enter(FaultDisk::CallKind::kName);
    if (!status.ok() && !partly_) return status;
    FaultDisk::Operation operation;
    operation.truncate = true;
    operation.offset = size_bytes;
    disk_.Do(*inode_, std::move(operation));
    return status;
  }

  absl::Status Sync() override {
    absl::MutexLock lock(&disk_.mutex_);
    const absl::Status status = Enter(FaultDisk::CallKind::kSync);
    if (!status.ok()) {
      // The kernel reports the failure once, keeps the pages and takes them for clean. A power failure leaves all
      // pending: Restart() decides.
      if (!disk_.dead_) {
        for (const FaultDisk::Operation& operation : inode_->pending) {
          if (disk_.Below(2) == 0) FaultDisk::Apply(operation, inode_->durable);
        }
        inode_->pending.clear();
      }
      return status;
    }
    for (const FaultDisk::Operation& operation : inode_->pending) FaultDisk::Apply(operation, inode_->durable);
    inode_->pending.clear();
    return absl::OkStatus();
  }

  absl::StatusOr<std::uint64_t> Size() override {
    absl::MutexLock lock(&disk_.mutex_);
    if (const absl::Status status = Enter(FaultDisk::CallKind::kRead); !status.ok()) return status;
    return std::uint64_t{inode_->content.size()};
  }

 private:
  absl::Status Enter(FaultDisk::CallKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(disk_.mutex_) {
    partly_ = false;
    if (generation_ != disk_.generation_) return absl::UnavailableError("a file of before the restart");
    return disk_.Enter(kind, partly_);
  }

  FaultDisk& disk_;
  const std::shared_ptr<FaultDisk::Inode> inode_;
  const std::uint64_t generation_;
  bool partly_ = false;
};

class FaultLock : public SpoolLock {
 public:
  FaultLock(FaultDisk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  ~FaultLock() override {
    absl::MutexLock lock(&disk_.mutex_);
    disk_.locked_.erase(path_);
  }

 private:
  FaultDisk& disk_;
  const std::string path_;
};

void FaultDisk::FailAt(std::uint64_t call, Fault fault, std::uint64_t times) {
  absl::MutexLock lock(&mutex_);
  fail_from_ = calls_ + call;
  fail_to_ = fail_from_ + times - 1;
  fault_ = fault;
}

void FaultDisk::FailNever() {
  absl::MutexLock lock(&mutex_);
  fail_from_ = 0;
}

std::uint64_t FaultDisk::calls() const {
  absl::MutexLock lock(&mutex_);
  return calls_;
}

bool FaultDisk::dead() const {
  absl::MutexLock lock(&mutex_);
  return dead_;
}

void FaultDisk::SetCapacity(std::uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  capacity_ = bytes;
}

void FaultDisk::Restart() {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, std::shared_ptr<Inode>> names = durable_names_;
  for (const auto& [name, inode] : names_) {
    const auto before = durable_names_.find(name);
    if ((before == durable_names_.end() || before->second != inode) && Below(2) == 0) names[name] = inode;
  }
  for (const auto& [name, inode] : durable_names_) {
    if (!names_.contains(name) && Below(2) == 0) names.erase(name);
  }
  for (auto& [name, inode] : names) {
    for (Operation& operation : inode->pending) {
      const std::uint64_t fate = Below(3);
      if (fate == 0) continue;
      if (fate == 1) operation.bytes.resize(static_cast<std::size_t>(Below(operation.bytes.size() + 1)));
      Apply(operation, inode->durable);
    }
    inode->pending.clear();
    inode->content = inode->durable;
  }
  names_ = names;
  durable_names_ = std::move(names);
  dead_ = false;
  fail_from_ = 0;
  ++generation_;
}

std::map<std::string, std::string> FaultDisk::Files() const {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, std::string> files;
  for (const auto& [name, inode] : names_) files[name] = inode->content;
  return files;
}

void FaultDisk::SetFiles(const std::map<std::string, std::string>& files) {
  absl::MutexLock lock(&mutex_);
  names_.clear();
  for (const auto& [name, content] : files) {
    auto inode = std::make_shared<Inode>();
    inode->content = inode->durable = content;
    names_[name] = std::move(inode);
  }
  durable_names_ = names_;
  ++generation_;
}

absl::Status FaultDisk::Enter(CallKind kind, bool& partly) {
  partly = false;
  if (dead_) return absl::UnavailableError("the power is off");
  ++calls_;
  if (fail_from_ == 0 || calls_ < fail_from_ || calls_ > fail_to_) return absl::OkStatus();
  if (fault_ == Fault::kNoSpace && kind == CallKind::kRead) return absl::OkStatus();
  partly = Below(2) == 0;
  switch (fault_) {
    case Fault::kPowerLoss: dead_ = true; return absl::UnavailableError("the power went");
    case Fault::kNoSpace: return absl::ResourceExhaustedError("no space left on device");
    case Fault::kIoError: break;
  }
  return absl::UnavailableError("input/output error");
}

std::uint64_t FaultDisk::Below(std::uint64_t end) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return (random_ >> 11) % end;
}

void FaultDisk::Apply(const Operation& operation, std::string& content) {
  if (operation.truncate) {
    content.resize(static_cast<std::size_t>(operation.offset), '\0');
    return;
  }
  const auto end = static_cast<std::size_t>(operation.offset + operation.bytes.size());
  if (content.size() < end) content.resize(end, '\0');
  content.replace(static_cast<std::size_t>(operation.offset), operation.bytes.size(), operation.bytes);
}

void FaultDisk::Do(Inode& inode, Operation operation) {
  Apply(operation, inode.content);
  inode.pending.push_back(std::move(operation));
}

std::uint64_t FaultDisk::Used() const {
  std::uint64_t used = 0;
  for (const auto& [name, inode] : names_) used += inode->content.size();
  return used;
}

absl::Status FaultDisk::MakeDirectory(absl::string_view) {
  absl::MutexLock lock(&mutex_);
  bool partly = false;
  return Enter(CallKind::kName, partly);
}

absl::StatusOr<std::vector<std::string>> FaultDisk::List(absl::string_view directory) {
  absl::MutexLock lock(&mutex_);
  bool partly = false;
  if (const absl::Status status = Enter(CallKind::kRead, partly); !status.ok()) return status;
  std::vector<std::string> names;
  for (const auto& [name, inode] : names_) {
    if (DirName(name) == directory) names.emplace_back(BaseName(name));
  }
  return names;
}

absl::StatusOr<std::unique_ptr<SpoolFile>> FaultDisk::Open(absl::string_view path, OpenMode mode) {
  absl::MutexLock lock(&mutex_);
  bool partly = false;
  const bool creates = mode == OpenMode::kCreateNew;
  const absl::Status status = Enter(creates ? CallKind::kName : CallKind::kRead, partly);
  if (!status.ok() && !(creates && partly)) return status;
  const std::string name(path);
  auto it = names_.find(name);
  if (!creates && it == names_.end()) return absl::NotFoundError(absl::StrCat("open ", name));
  if (creates) {
    if (it != names_.end()) return absl::AlreadyExistsError(absl::StrCat("open ", name));
    it = names_.emplace(name, std::make_shared<Inode>()).first;
  }
  if (!status.ok()) return status;
  return std::make_unique<FaultFile>(*this, it->second, generation_);
}

absl::Status FaultDisk::Remove(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  bool partly = false;
  const absl::Status status = Enter(CallKind::kName, partly);
  if (!status.ok() && !partly) return status;
  const bool gone = names_.erase(std::string(path)) == 1;
  if (status.ok() && !gone) return absl::NotFoundError(absl::StrCat("unlink ", path));
  return status;
}

absl::Status FaultDisk::SyncDirectory(absl::string_view) {
  absl::MutexLock lock(&mutex_);
  bool partly = false;
  const absl::Status status = Enter(CallKind::kSync, partly);
  if (status.ok()) durable_names_ = names_;
  return status;
}

absl::StatusOr<std::unique_ptr<SpoolLock>> FaultDisk::Lock(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  bool partly = false;
  if (const absl::Status status = Enter(CallKind::kName, partly); !status.ok()) return status;
  if (!locked_.insert(std::string(path)).second) return absl::FailedPreconditionError("the spool is in use");
  return std::make_unique<FaultLock>(*this, std::string(path));
}

absl::StatusOr<std::uint64_t> FaultDisk::Random() {
  absl::MutexLock lock(&mutex_);
  return Below(UINT64_MAX - 1) + 1;
}

}  // namespace paritect
