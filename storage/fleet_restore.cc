#include "storage/fleet_restore.h"

#include <unistd.h>
#include <cerrno>
#include <cstdio>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "storage/file_lock.h"
#include "storage/fleet_schema.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

constexpr const char* kTails[] = {"", "-wal", "-shm", ".lock", ".mark"};

bool IsThere(const std::string& path) {
  return PosixFileSystem().LStat(path).ok();
}

// Nothing that can be found wrong, and this version's schema.
absl::Status RequireWhole(const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> store, OpenFleetStore("sqlite:" + path));
  PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> problems, store->Verify());
  return problems.empty() ? absl::OkStatus() : absl::DataLossError(problems[0]);
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "rename", absl::StrCat(from, " to ", to));
}

// The write-ahead log goes with its database, or it would be read into the next one.
absl::Status MoveDatabase(const std::string& from, const std::string& to) {
  for (const char* tail : {"-wal", "-shm", ""}) {
    if (IsThere(from + tail)) PARITECT_RETURN_IF_ERROR(Rename(from + tail, to + tail));
  }
  return absl::OkStatus();
}

// Gives the name under which the database is kept that stood there; empty: none did.
absl::StatusOr<std::string> PutInPlaceOf(const std::string& path, const std::string& next, absl::string_view now) {
  PARITECT_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(path + ".lock"));
  std::string kept;
  if (IsThere(path)) {
    kept = absl::StrCat(path, ".before-restore-", now);
    if (IsThere(kept)) return absl::AlreadyExistsError(absl::StrCat(kept, " is there already"));
    PARITECT_RETURN_IF_ERROR(MoveDatabase(path, kept));
  }
  PARITECT_RETURN_IF_ERROR(Rename(next, path));
  return kept;
}

absl::StatusOr<std::optional<MarkedState>> MarkOf(const std::string& path) {
  if (!IsThere(path + ".mark")) return std::nullopt;
  PARITECT_ASSIGN_OR_RETURN(const StoreMark mark, StoreMark::Open(path + ".mark"));
  return mark.found();
}

}  // namespace

absl::StatusOr<RestoreResult> AcceptDatabase(const std::string& path) {
  RestoreResult result;
  PARITECT_ASSIGN_OR_RETURN(result.mark, MarkOf(path));
  {
    PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> store,
                              OpenFleetStore("sqlite:" + path, {.marked = true, .lost_commits = LostCommits::kAccept}));
  }
  PARITECT_ASSIGN_OR_RETURN(const std::optional<MarkedState> restored, MarkOf(path));
  if (restored) result.restored = *restored;
  return result;
}

absl::StatusOr<RestoreResult> RestoreDatabase(const std::string& path, const std::string& backup,
                                              absl::string_view now) {
  // A server that runs is found out before anything is copied.
  PARITECT_RETURN_IF_ERROR(FileLock::Acquire(path + ".lock").status());
  const std::string temporary = absl::StrCat(path, ".restoring");
  const auto remove = [&temporary] {
    for (const char* tail : kTails) unlink((temporary + tail).c_str());
  };
  remove();
  const absl::Cleanup removed = remove;
  PARITECT_RETURN_IF_ERROR(Annotate(CopyRunningDatabase(backup, temporary), backup));
  PARITECT_RETURN_IF_ERROR(Annotate(RequireWhole(temporary), backup));
  PARITECT_ASSIGN_OR_RETURN(const std::optional<MarkedState> mark, MarkOf(path));
  PARITECT_ASSIGN_OR_RETURN(std::string kept, PutInPlaceOf(path, temporary, now));
  PARITECT_ASSIGN_OR_RETURN(RestoreResult result, AcceptDatabase(path));
  result.kept_as = std::move(kept);
  result.mark = mark;
  return result;
}

}  // namespace paritect
