// A spool's folder that is taken away, emptied or replaced while it is in use.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/spool/spool.h"
#include "common/file_system.h"
#include "common/status_macros.h"

namespace paritect {

absl::StatusOr<std::string> Spool::IdentityNow() const {
  std::string identity;
  for (const std::string& path : {directory_, JoinPath(directory_, "state"), JoinPath(directory_, "lock")}) {
    const auto one = io_.Identity(path);
    if (absl::IsNotFound(one.status()) || absl::IsUnimplemented(one.status())) return "";
    if (!one.ok()) return one.status();  // a disk in trouble has not lost the folder
    absl::StrAppend(&identity, *one, "/");
  }
  return identity;
}

std::vector<Segment> Spool::MissingSegments() const {
  std::vector<Segment> gone;
  absl::MutexLock lock(&mutex_);
  for (const RecordClass record_class : {RecordClass::kCritical, RecordClass::kBulk}) {
    for (const auto& [first, segment] : index_.Of(record_class)) {
      const std::string name = spool_format::EncodeSegmentName({record_class, first});
      if (absl::IsNotFound(io_.Identity(JoinPath(directory_, name)).status())) gone.push_back(segment);
    }
  }
  return gone;
}

// The folder is ours: what is missing is lost, as a gap, and nothing else. The number of lost records.
std::uint64_t Spool::ForgetSegments(const std::vector<Segment>& gone) {
  if (gone.empty()) return 0;
  std::uint64_t lost = 0;
  absl::MutexLock read(&read_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    for (const Segment& segment : gone) {
      if (IsActive(segment)) active_[static_cast<int>(segment.record_class)] = Active();
      const std::uint64_t from = std::max(segment.first, low_water_ + 1);
      lost += segment.last < from ? 0 : std::min(segment.records, segment.last + 1 - from);
      index_.Erase(segment.record_class, segment.first);
    }
  }
  reader_.Forget();
  return std::max<std::uint64_t>(1, lost);
}

absl::StatusOr<std::uint64_t> Spool::Mend() {
  absl::MutexLock commit(&commit_mutex_);
  if (closed_ || identity_.empty()) return 0;
  PARITECT_ASSIGN_OR_RETURN(const std::string now, IdentityNow());
  if (now == identity_) return ForgetSegments(MissingSegments());
  PARITECT_RETURN_IF_ERROR(io_.MakeDirectory(directory_));
  PARITECT_RETURN_IF_ERROR(io_.SyncDirectory(DirName(directory_)));
  lock_.reset();
  // Whoever holds it now has put the new folder to use: then this one has nothing to write any more.
  auto taken = io_.Lock(JoinPath(directory_, "lock"));
  if (!taken.ok()) return taken.status();
  lock_ = *std::move(taken);
  state_.Forget();
  for (Active& active : active_) active = Active();
  std::uint64_t lost = 0;
  {
    absl::MutexLock read(&read_mutex_);
    absl::MutexLock lock(&mutex_);
    index_ = SpoolIndex();
    lost = accepted_ - low_water_;
    const GapReason reason = lost > 0 ? GapReason::kDamaged : GapReason::kNotWritten;
    pending_skip_ = NumberRange();
    if (next_ - 1 > low_water_) pending_skip_ = {low_water_ + 1, next_ - 1, reason};
    if (pending_skip_.from != 0) index_.AddSkip(pending_skip_);
  }
  {
    absl::MutexLock read(&read_mutex_);
    reader_.Forget();
  }
  PARITECT_RETURN_IF_ERROR(state_.Save(SlotNow()));
  PARITECT_ASSIGN_OR_RETURN(identity_, IdentityNow());
  return lost == 0 ? 1 : lost;
}

}  // namespace paritect
