// DIR/digests        64 bytes "PARITECT-DIGESTS-1\n", then records sorted by key
// DIR/journal-PID-N  records in the order of their making; locked by its program as long as that lives
// DIR/lock           locked while `digests` is written anew
// A record says by itself whether it is whole (cache_record.h).
#include "agent/datasets/digest_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/datasets/cache_record.h"
#include "common/errno_status.h"
#include "common/posix_file.h"
#include "common/write_all.h"

namespace paritect {
namespace {

constexpr char kHeader[kMd5BlockBytes] = "PARITECT-DIGESTS-1\n";
constexpr std::int64_t kSecond = 1'000'000'000;
// The coarsest clocks: FAT 2 s, ext3 and old servers 1 s, Linux before 6.13 one tick. Generous, for it costs nothing.
constexpr std::int64_t kRacyMarginNs = 2 * kSecond;
// A server's clock is not ours.
constexpr std::int64_t kRacyMarginNetworkNs = 3600 * kSecond;
constexpr std::size_t kPendingBytesMax = 64 << 10;
constexpr std::uint64_t kMergeRecordsMax = 1'000'000;  // more are left in the journal: sorting them takes memory
constexpr std::uint64_t kJournalBytesMax = std::uint64_t{4} << 30;

std::int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

bool KeyLess(const CacheRecord& a, const CacheRecord& b) {
  return a.key() < b.key();
}

std::string KeyOf(const CacheRecord& record) {
  return std::string(reinterpret_cast<const char*>(&record), offsetof(CacheRecord, md5));
}

// Every folder of the path that is missing; others may see nothing of it.
void MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
  }
  mkdir(path.c_str(), 0700);
}

const CacheRecord* FindIn(const CacheRecord* begin, std::size_t count, const CacheRecord& wanted) {
  const CacheRecord* const found = std::lower_bound(begin, begin + count, wanted, KeyLess);
  return found != begin + count && found->key() == wanted.key() ? found : nullptr;
}

}  // namespace

std::string UserCacheFolder(absl::string_view xdg_cache_home, absl::string_view home) {
  if (absl::StartsWith(xdg_cache_home, "/")) return absl::StrCat(xdg_cache_home, "/paritect");
  return absl::StartsWith(home, "/") ? absl::StrCat(home, "/.cache/paritect") : "";
}

std::unique_ptr<DigestCache> DigestCache::Open(const Options& options) {
  std::unique_ptr<DigestCache> cache(new DigestCache(options));
  if (!options.folder.empty()) cache->OpenFiles();
  return cache;
}

DigestCache::~DigestCache() {
  Close();
}

void DigestCache::Warn(std::string text) const {
  if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(std::move(text));
}

std::vector<std::string> DigestCache::warnings() const {
  const absl::MutexLock lock(&mutex_);
  return warnings_;
}

void DigestCache::OpenFiles() {
  MakeFolders(options_.folder);
  MapSorted();
  TakeOverJournals();
  OpenJournal();
}

void DigestCache::MapSorted() {
  const std::string path = absl::StrCat(options_.folder, "/digests");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat st;
  const std::size_t bytes = fstat(fd, &st) == 0 ? static_cast<std::size_t>(st.st_size) : 0;
  const bool mapped = bytes >= sizeof(kHeader) && window_.Map(fd, 0, bytes, false).ok();
  close(fd);
  const bool sound =
      mapped && bytes % sizeof(CacheRecord) == 0 && std::memcmp(window_.data(), kHeader, sizeof(kHeader)) == 0;
  count_ = sound ? bytes / sizeof(CacheRecord) - 1 : 0;
  if (sound) return;
  window_.Unmap();
  const absl::MutexLock lock(&mutex_);
  Warn(absl::StrCat("the digest cache ", path, " is damaged: left out and made anew"));
}

const CacheRecord* DigestCache::sorted() const {
  return reinterpret_cast<const CacheRecord*>(window_.data() + sizeof(kHeader));
}

// Reads what is whole; false: it is being written by a program that lives.
bool DigestCache::ReadJournal(int fd, std::vector<CacheRecord>* records) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  struct stat st;
  if (fstat(fd, &st) != 0 || static_cast<std::uint64_t>(st.st_size) > kJournalBytesMax) return true;
  const std::size_t first = records->size();
  records->resize(first + static_cast<std::size_t>(st.st_size) / sizeof(CacheRecord));
  std::size_t at = first;
  char* const to = reinterpret_cast<char*>(records->data() + first);
  std::size_t got = 0;
  const std::size_t wanted = (records->size() - first) * sizeof(CacheRecord);
  while (got < wanted) {
    const ssize_t n = pread(fd, to + got, wanted - got, static_cast<off_t>(got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  const std::size_t end = first + got / sizeof(CacheRecord);
  while (at < end && (*records)[at].sound()) ++at;
  if (at < records->size()) {
    const absl::MutexLock lock(&mutex_);
    Warn(absl::StrCat("the digest cache's journal is damaged after ", at - first, " records: the rest is left out"));
  }
  records->resize(at);
  return true;
}

// What stopped or very large runs left. State records stay with this run, which writes them again into its own journal.
void DigestCache::TakeOverJournals() {
  DIR* dir = opendir(options_.folder.c_str());
  if (dir == nullptr) return;
  std::vector<CacheRecord> records;
  std::vector<std::string> done;
  std::vector<int> held;
  while (const dirent* entry = readdir(dir)) {
    if (!absl::StartsWith(entry->d_name, "journal-")) continue;
    const std::string path = absl::StrCat(options_.folder, "/", entry->d_name);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (ReadJournal(fd, &records)) {
      done.push_back(path);
      held.push_back(fd);
    } else {
      close(fd);
    }
  }
  closedir(dir);
  {
    const absl::MutexLock lock(&mutex_);
    for (const CacheRecord& record : records) {
      if (record.kind() != CacheRecord::kState) continue;
      Md5State state;
      std::memcpy(state.words, record.md5, sizeof(state.words));
      states_[KeyOf(record)][record.value] = state;
      pending_.append(reinterpret_cast<const char*>(&record), sizeof(record));
    }
  }
  std::erase_if(records, [](const CacheRecord& record) { return record.kind() == CacheRecord::kState; });
  const bool written = records.empty() || WriteSorted(records);
  if (written) {
    for (const std::string& path : done) unlink(path.c_str());
  }
  if (!written || !options_.read) {
    std::sort(records.begin(), records.end(), KeyLess);
    left_ = std::move(records);
  }
  for (const int fd : held) close(fd);
}

void DigestCache::OpenJournal() {
  static std::atomic<int> number = 0;
  journal_path_ = absl::StrCat(options_.folder, "/journal-", getpid(), "-", number.fetch_add(1));
  journal_ = open(journal_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const absl::MutexLock lock(&mutex_);
  if (journal_ < 0 || flock(journal_, LOCK_EX | LOCK_NB) != 0) {
    Warn(absl::StrCat("no digest cache in ", options_.folder, ": ", ErrnoText(errno)));
    if (journal_ >= 0) close(journal_);
    journal_ = -1;
    return;
  }
  flushed_ns_ = NowNs();
  if (!pending_.empty()) Flush();
}

// `digests` and what was added, in a new file in its place. False: it could not be written; the old one stands.
bool DigestCache::WriteSorted(std::vector<CacheRecord> added) {
  const std::string lock_path = absl::StrCat(options_.folder, "/lock");
  const int lock = open(lock_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) {
    if (lock >= 0) close(lock);
    return false;
  }
  MapSorted();  // another program may have written it meanwhile
  std::stable_sort(added.begin(), added.end(), KeyLess);
  std::vector<std::uint32_t> ages;
  const std::size_t all = count_ + added.size();
  std::uint32_t oldest = 0;
  if (all > options_.records_max) {
    for (std::size_t i = 0; i < count_; ++i) ages.push_back(sorted()[i].value);
    for (const CacheRecord& record : added) ages.push_back(record.value);
    const auto cut = ages.begin() + static_cast<std::ptrdiff_t>(all - options_.records_max);
    std::nth_element(ages.begin(), cut, ages.end());
    oldest = *cut;
  }
  const std::string path = absl::StrCat(options_.folder, "/digests");
  const std::string temporary = absl::StrCat(path, ".new", getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  std::string out(kHeader, sizeof(kHeader));
  bool written = fd >= 0;
  const auto Write = [&](const CacheRecord& record) {
    if (record.value < oldest || !record.sound()) return;
    out.append(reinterpret_cast<const char*>(&record), sizeof(record));
    if (out.size() < (1 << 20)) return;
    written = written && WriteAll(fd, out) == 0;
    out.clear();
  };
  std::size_t old = 0;
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (i + 1 < added.size() && added[i].key() == added[i + 1].key()) continue;  // the later one counts
    while (old < count_ && KeyLess(sorted()[old], added[i])) Write(sorted()[old++]);
    while (old < count_ && sorted()[old].key() == added[i].key()) ++old;
    Write(added[i]);
  }
  while (old < count_) Write(sorted()[old++]);
  written = written && WriteAll(fd, out) == 0;
  if (fd >= 0 && close(fd) != 0) written = false;
  if (written && rename(temporary.c_str(), path.c_str()) != 0) written = false;
  if (!written) {
    const int error = errno;
    unlink(temporary.c_str());
    const absl::MutexLock held(&mutex_);
    Warn(absl::StrCat("the digest cache ", path, " cannot be written: ", ErrnoText(error)));
  }
  close(lock);
  if (written) MapSorted();
  return written;
}

std::optional<CachedDigest> DigestCache::Find(const DiskInfo& disk, const FileInfo& file) const {
  if (!disk.stable_numbers || disk.id == 0 || file.inode == 0) return std::nullopt;
  const CacheRecord wanted = CacheRecord::Of(disk, file);
  const CacheRecord* found = nullptr;
  if (options_.read && count_ > 0) found = FindIn(sorted(), count_, wanted);
  if (found == nullptr && options_.resume) found = FindIn(left_.data(), left_.size(), wanted);
  if (found == nullptr) return std::nullopt;
  const CacheRecord record = *found;
  if (!record.sound() || record.kind() >= CacheRecord::kState || record.key() != wanted.key()) {
    const absl::MutexLock lock(&mutex_);
    Warn("the digest cache has damaged records: those files are read again");
    return std::nullopt;
  }
  CachedDigest digest;
  std::memcpy(digest.md5, record.md5, kMd5Bytes);
  digest.hashed_at_unix_s = record.value;
  digest.looked = static_cast<LookedAt>(record.kind() - CacheRecord::kDigest);
  return digest;
}

// Written to so shortly before it was read that a later write may bear the same times.
static bool IsRacy(const DiskInfo& disk, const FileInfo& file, std::int64_t read_began_ns) {
  const std::int64_t margin = disk.network ? kRacyMarginNetworkNs : kRacyMarginNs;
  return std::max(file.mtime_ns, file.ctime_ns) + margin >= read_began_ns;
}

void DigestCache::Add(const DiskInfo& disk, const FileInfo& file, const unsigned char* md5, LookedAt looked,
                      std::int64_t read_began_ns) {
  if (!disk.stable_numbers || disk.id == 0 || file.inode == 0 || file.size_bytes == 0) return;
  if (IsRacy(disk, file, read_began_ns)) return;
  CacheRecord record = CacheRecord::Of(disk, file);
  std::memcpy(record.md5, md5, kMd5Bytes);
  record.value = static_cast<std::uint32_t>(read_began_ns / kSecond);
  record.Seal(CacheRecord::kDigest + static_cast<std::uint32_t>(looked));
  const absl::MutexLock lock(&mutex_);
  Append(record);
  ++added_;
}

void DigestCache::AddStates(const DiskInfo& disk, const FileInfo& file, const std::vector<Md5State>& states,
                            std::int64_t read_began_ns) {
  if (!disk.stable_numbers || disk.id == 0 || file.inode == 0 || IsRacy(disk, file, read_began_ns)) return;
  CacheRecord record = CacheRecord::Of(disk, file);
  const absl::MutexLock lock(&mutex_);
  std::map<std::uint32_t, Md5State>& known = states_[KeyOf(record)];
  for (std::uint32_t number = 1; number <= states.size(); ++number) {
    if (!known.emplace(number, states[number - 1]).second) continue;
    std::memcpy(record.md5, states[number - 1].words, kMd5Bytes);
    record.value = number;
    record.Seal(CacheRecord::kState);
    Append(record);
  }
  Flush();
}

std::vector<Md5State> DigestCache::FindStates(const DiskInfo& disk, const FileInfo& file) const {
  std::vector<Md5State> states;
  if (!options_.resume || !disk.stable_numbers || disk.id == 0) return states;
  const absl::MutexLock lock(&mutex_);
  const auto known = states_.find(KeyOf(CacheRecord::Of(disk, file)));
  if (known == states_.end()) return states;
  for (const auto& [number, state] : known->second) {
    if (number != states.size() + 1) break;
    states.push_back(state);
  }
  return states;
}

void DigestCache::Append(const CacheRecord& record) {
  if (journal_ < 0) return;
  pending_.append(reinterpret_cast<const char*>(&record), sizeof(record));
  if (pending_.size() >= kPendingBytesMax || NowNs() - flushed_ns_ > kSecond) Flush();
}

void DigestCache::Flush() {
  flushed_ns_ = NowNs();
  if (journal_ < 0 || pending_.empty()) return;
  if (WriteAll(journal_, pending_) != 0) {
    Warn(absl::StrCat("the digest cache ", journal_path_, " cannot be written: ", ErrnoText(errno),
                      "; going on without"));
    unlink(journal_path_.c_str());
    close(journal_);
    journal_ = -1;
  }
  pending_.clear();
}

void DigestCache::Close() {
  std::uint64_t added = 0;
  {
    const absl::MutexLock lock(&mutex_);
    Flush();
    added = added_;
    added_ = 0;
  }
  if (journal_ < 0) return;
  std::vector<CacheRecord> records;
  bool keep = added > kMergeRecordsMax;
  if (added > 0 && !keep) {
    const int fd = open(journal_path_.c_str(), O_RDONLY | O_CLOEXEC);
    // The same program holds the lock on another descriptor: give it up first.
    flock(journal_, LOCK_UN);
    keep = fd < 0 || !ReadJournal(fd, &records);
    std::erase_if(records, [](const CacheRecord& record) { return record.kind() == CacheRecord::kState; });
    if (!keep && !records.empty()) keep = !WriteSorted(std::move(records));
    if (fd >= 0) close(fd);
  }
  if (!keep) unlink(journal_path_.c_str());
  close(journal_);
  journal_ = -1;
}

}  // namespace paritect
