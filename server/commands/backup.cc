// paritect-server backup | restore: a copy of the database of a server, also of one that runs, and its way back.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/arguments.h"
#include "common/digest.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/kept_owner.h"
#include "common/status_macros.h"
#include "server/commands/server_store.h"
#include "server/server_command.h"
#include "storage/file_lock.h"
#include "storage/fleet_restore.h"
#include "storage/fleet_schema.h"
#include "storage/postgresql/server_stores.h"

namespace paritect {
namespace {

constexpr std::uint64_t kKeyFileBytesMax = 256 << 20;
// What a server is beside its database.
constexpr absl::string_view kFolderFiles[] = {"ca.pem",      "ca.key",          "server.pem", "server.key",
                                              "holders.log", "identities.yaml", "report.key", "report.pub"};

// Copies what is there, never over anything; gives the names. Mode 0600: keys are among them.
absl::StatusOr<std::vector<std::string>> CopyFolderFiles(const std::string& from, const std::string& to) {
  std::vector<std::string> copied;
  for (const absl::string_view name : kFolderFiles) {
    const auto bytes = ReadWholeFile(PosixFileSystem(), JoinPath(from, name), kKeyFileBytesMax);
    if (absl::IsNotFound(bytes.status())) continue;
    PARITECT_RETURN_IF_ERROR(bytes.status());
    const std::string path = JoinPath(to, name);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return ErrnoStatus(errno, "create", path);
    const bool written =
        write(fd, bytes->data(), bytes->size()) == static_cast<ssize_t>(bytes->size()) && fsync(fd) == 0;
    const int error = errno;
    close(fd);
    if (!written) return ErrnoStatus(error, "write", path);
    copied.emplace_back(name);
  }
  return copied;
}

// A folder that has an authority keeps it, and a database of another would let nobody in.
absl::Status SameAuthority(const std::string& keys, const std::string& folder) {
  const auto there = ReadWholeFile(PosixFileSystem(), JoinPath(folder, "ca.pem"), kKeyFileBytesMax);
  if (absl::IsNotFound(there.status())) return absl::OkStatus();
  PARITECT_RETURN_IF_ERROR(there.status());
  PARITECT_ASSIGN_OR_RETURN(const std::string other,
                            ReadWholeFile(PosixFileSystem(), JoinPath(keys, "ca.pem"), kKeyFileBytesMax));
  if (other == *there) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(folder, " holds another authority than ", keys,
                                                    "; nothing was changed: name a folder that is not there yet"));
}

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(path, " is there: the keys were not copied"));
  return ErrnoStatus(errno, "make", path);
}

// A server that runs goes on meanwhile. One that does not is opened as it would be at a start: what a kill left in the
// write-ahead log is part of the copy.
absl::Status CopyTo(const std::string& folder, const std::string& store, const std::string& file) {
  if (!store.empty()) return BackupServerStore(store, file);
  const std::string database = DatabaseOf(folder);
  const bool runs = absl::IsUnavailable(FileLock::Acquire(database + ".lock").status());
  if (runs) return CopyRunningDatabase(database, file);
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> opened, OpenStoreOf(folder));
  return opened->Backup(file);
}

int Backup(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string file;
  std::string keys;
  std::string store;
  Arguments arguments("paritect-server backup", "copy a server's database, whole and consistent; the server may run");
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Text("FILE", file, "the copy; must not be there", true);
  arguments.Text("--store", store, kStoreHelp);
  arguments.Text("--keys", keys, "also copy authority, keys and revocations into this new folder: keep it apart");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "backup", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  const KeptOwner owner(folder);
  if (store.empty() && !PosixFileSystem().Stat(DatabaseOf(folder)).ok()) {
    return ServerError(env, "backup", absl::StrCat(folder, " holds no Paritect server's database"), kServerUsage);
  }
  if (!keys.empty() && PosixFileSystem().LStat(keys).ok()) {
    return ServerError(env, "backup", absl::StrCat(keys, " is there already; nothing was written"), kServerUsage);
  }
  const absl::Status status = CopyTo(folder, store, file);
  if (absl::IsAlreadyExists(status)) return ServerError(env, "backup", status.message(), kServerUsage);
  if (!status.ok()) return ServerError(env, "backup", status.message(), kServerFailed);
  env.out << file << "\n";
  if (keys.empty()) {
    env.err << "the copy lacks what is beside the database: authority and keys (ca.pem, ca.key, server.pem, "
               "server.key, report.key, report.pub), revocations (holders.log), identities.yaml; --keys FOLDER copies "
               "them too\n";
    return kServerOk;
  }
  absl::Status made = MakeFolder(keys);
  if (made.ok()) made = CopyFolderFiles(folder, keys).status();
  if (!made.ok()) return ServerError(env, "backup", made.message(), kServerFailed);
  env.err << keys << ": holds the authority's key: who has it can be anyone. Keep it apart from the database\n";
  return kServerOk;
}

// Tokens that were used since would be good once more. Gives how many there were.
absl::StatusOr<std::int64_t> DropTokens(FleetStore& store, WriteSet& set) {
  std::int64_t tokens = 0;
  PARITECT_RETURN_IF_ERROR(store.Scan("token", "", "", [&](absl::string_view key, absl::string_view) {
    set.documents.push_back({"token", std::string(key), std::nullopt, {}});
    ++tokens;
    return true;
  }));
  return tokens;
}

std::string Describe(const RestoreResult& result, const std::string& file) {
  std::string what = file.empty() ? "the database as it is" : absl::StrCat("from ", file);
  absl::StrAppend(&what, ", up to commit ", result.restored.commits, " and log entry ", result.restored.log_number);
  if (!result.mark) return absl::StrCat(what, "; how far the one before had come is not known");
  const std::int64_t commits = result.mark->commits - result.restored.commits;
  if (commits <= 0) return absl::StrCat(what, "; nothing newer is known");
  return absl::StrCat(what, "; not in it: ", commits, " newer commits, up to log entry ", result.mark->log_number, ":",
                      ToHex(result.mark->log_hash));
}

// The log says from now on what is not in it.
absl::Status NoteRestore(ServerEnv& env, const std::string& folder, const std::string& what) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> store, OpenStoreOf(folder));
  WriteSet set;
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t tokens, DropTokens(*store, set));
  v1::AuditLogEntry& entry = set.log.emplace_back();
  entry.set_at_unix_ms(env.clock());
  entry.set_actor("server");
  entry.set_action("Restore");
  entry.set_outcome("ok");
  entry.set_detail(what);
  const WriteSet* const sets[] = {&set};
  PARITECT_RETURN_IF_ERROR(store->Commit(sets));
  if (tokens > 0) env.err << tokens << " join tokens were dropped: they may have been used since; make new ones\n";
  return absl::OkStatus();
}

// Nothing of a folder without an authority can be used: nobody's certificate would be good there.
absl::Status HoldsAServer(const std::string& folder) {
  if (PosixFileSystem().Stat(JoinPath(folder, "ca.pem")).ok()) return absl::OkStatus();
  const bool there = PosixFileSystem().Stat(folder).ok();
  return absl::NotFoundError(
      absl::StrCat(folder, there ? " holds no Paritect server" : " is not there",
                   "; nothing was changed. Elsewhere than where it ran a server needs its authority and keys, too: add "
                   "--keys with the folder that `backup --keys` wrote, and restore makes DIR with them"));
}

int Restore(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string file;
  std::string keys;
  bool as_it_is = false;
  Arguments arguments("paritect-server restore",
                      "put a backup in the place of a stopped server's database, which is kept beside it");
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Text("FILE", file, "what `backup` wrote");
  arguments.Text("--keys", keys, "also take authority, keys and revocations from this folder, where DIR has none");
  arguments.Flag("--as-it-is", as_it_is, "no FILE: go on with the database that is there, though commits were lost");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "restore", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  const KeptOwner owner(folder);
  if (file.empty() != as_it_is) {
    return ServerError(env, "restore", "give FILE, or --as-it-is to go on with what is there", kServerUsage);
  }
  bool revocations_of_keys = false;
  if (keys.empty()) {
    if (const absl::Status server = HoldsAServer(folder); !server.ok()) {
      return ServerError(env, "restore", server.message(), kServerUsage);
    }
  } else {
    if (const absl::Status same = SameAuthority(keys, folder); !same.ok()) {
      return ServerError(env, "restore", same.message(), kServerUsage);
    }
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return ServerError(env, "restore", absl::StrCat("cannot make ", folder), kServerFailed);
    }
    const auto copied = CopyFolderFiles(keys, folder);
    if (!copied.ok()) return ServerError(env, "restore", copied.status().message(), kServerFailed);
    revocations_of_keys = std::count(copied->begin(), copied->end(), "holders.log") > 0;
    env.err << "taken from " << keys << ": " << (copied->empty() ? "nothing" : absl::StrJoin(*copied, ", ")) << "\n";
  }
  const std::string now = absl::StrReplaceAll(FormatTime(env.clock()), {{"-", ""}, {":", ""}, {" ", "T"}});
  const auto result = as_it_is ? AcceptDatabase(DatabaseOf(folder)) : RestoreDatabase(DatabaseOf(folder), file, now);
  if (absl::IsUnavailable(result.status())) {
    return ServerError(env, "restore", absl::StrCat(result.status().message(), "; stop the server first"),
                       kServerUsage);
  }
  if (!result.ok()) return ServerError(env, "restore", result.status().message(), kServerFailed);
  const std::string what = Describe(*result, file);
  if (absl::Status noted = NoteRestore(env, folder, what); !noted.ok()) {
    return ServerError(env, "restore", noted.message(), kServerFailed);
  }
  env.out << "restored " << what << "\n";
  if (!result->kept_as.empty()) env.err << "the database before is kept as " << result->kept_as << "\n";
  const bool journal = PosixFileSystem().Stat(JoinPath(folder, "holders.log")).ok();
  env.err << (revocations_of_keys
                  ? "revocations are those of the keys' copy: revoke again whoever was revoked after it was made\n"
              : journal ? "revocations are kept beside the database (holders.log) and count from the next start\n"
                        : "there is no holders.log: whoever was revoked after the backup is not revoked any more; "
                          "revoke them again\n");
  env.err << "records that agents delivered since then are told as lost when they connect (`paritect doctor`); run the "
             "audits again that rest on them. Tasks that are not done are asked for again\n";
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerBackupCommand;
const ServerCommand kServerBackupCommand = {"backup", "copy a server's database, also while it runs", &Backup};
extern const ServerCommand kServerRestoreCommand;
const ServerCommand kServerRestoreCommand = {"restore", "put a backup in the place of a stopped server's database",
                                             &Restore};

}  // namespace paritect
