#include "agent/datasets/block_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/md5/md5_lanes.h"
#include "common/posix_file.h"
#include "common/status_macros.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

constexpr std::size_t kReadBytes = 32 << 10;         // all lanes' buffers together stay in the second-level cache
constexpr std::size_t kDirectBytes = 512 << 10;      // one request to the medium
constexpr std::uint64_t kMapBytesMin = 192 << 10;    // below, mapping costs more than it saves
constexpr std::size_t kWindowBytes = 2 << 20;
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kPaddingRoom = 128;
constexpr std::size_t kZeroBytes = 1 << 20;
constexpr std::uint64_t kHoleBytesMin = 64 << 10;  // shorter ones are cheaper read than looked for
constexpr std::uint64_t kUnsizedBytesMax = 64 << 20;  // of a file that says 0 bytes; it may never end

// Never written: all of it is one page of memory.
alignas(64) unsigned char g_zeros[kZeroBytes];

bool SameFile(const FileInfo& a, const FileInfo& b) {
  return a.size_bytes == b.size_bytes && a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns;
}

}  // namespace

BlockReader::~BlockReader() {
  Close();
}

void BlockReader::Close() {
  window_.Unmap();
  if (fd_ >= 0 && cold_ && direct_ < 0) posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  if (direct_ >= 0) close(direct_);
  direct_ = -1;
  fd_ = -1;
  file_.reset();
}

absl::Status BlockReader::Start(std::unique_ptr<File> file, std::uint64_t from) {
  Close();
  file_ = std::move(file);
  PARITECT_ASSIGN_OR_RETURN(info_, file_->InfoAtOpen());
  fd_ = file_->Descriptor();
  position_ = fd_ >= 0 ? from : 0;
  if (position_ != from) return absl::InvalidArgumentError("cannot begin in the middle");
  data_until_ = info_.may_have_holes && fd_ >= 0 ? position_ : info_.size_bytes;
  cold_ = false;
  short_ = false;
  head_.clear();
  tail_.clear();
  map_ = options_.map && !options_.past_cache && fd_ >= 0 && info_.size_bytes >= kMapBytesMin;
  if (options_.past_cache && fd_ >= 0) OpenPastCache();
  const std::size_t wanted = direct_ >= 0 ? kDirectBytes : kReadBytes;
  if (buffer_bytes_ < wanted && !map_) {
    buffer_ = {static_cast<unsigned char*>(std::aligned_alloc(kAlignment, wanted + kAlignment)), &std::free};
    if (buffer_ == nullptr) return absl::ResourceExhaustedError("no memory");
    buffer_bytes_ = wanted;
  }
  if (map_) LookIfCold();
  if (from > 0 && options_.keep_ends) {  // what is left out is the beginning that somebody wants to look at
    head_.resize(kHintHeadBytes);
    const ssize_t n = pread(fd_, head_.data(), head_.size(), 0);
    if (n < 0) return ErrnoStatus(errno, "read", "");
    head_.resize(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

// Where the file system has no such way, what memory holds of the file is given back first and read anew.
void BlockReader::OpenPastCache() {
  direct_ = open(absl::StrCat("/proc/self/fd/", fd_).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (direct_ < 0) posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
}

void BlockReader::LookIfCold() {
  char byte;
  const iovec part = {&byte, 1};
  cold_ = preadv2(fd_, &part, 1, static_cast<off_t>(position_), RWF_NOWAIT) < 0 && errno == EAGAIN;
  if (cold_) AdviseNext(position_, 2 * kWindowBytes);
}

void BlockReader::AdviseNext(std::uint64_t from, std::uint64_t bytes) const {
  if (from >= info_.size_bytes) return;
  posix_fadvise(fd_, static_cast<off_t>(from), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void BlockReader::Keep(const unsigned char* data, std::size_t bytes) {
  if (!options_.keep_ends) return;
  const char* chunk = reinterpret_cast<const char*>(data);
  if (head_.size() < kHintHeadBytes) head_.append(chunk, std::min(bytes, kHintHeadBytes - head_.size()));
  if (bytes >= kHintTailBytes) {
    tail_.assign(chunk + bytes - kHintTailBytes, kHintTailBytes);
    return;
  }
  tail_.append(chunk, bytes);
  if (tail_.size() > kHintTailBytes) tail_.erase(0, tail_.size() - kHintTailBytes);
}

// The rest of the file, less than a block of it, and the padding.
BlockReader::Run BlockReader::PaddingRun(const unsigned char* rest, std::size_t bytes) {
  if (bytes > 0) std::memcpy(padding_, rest, bytes);
  Keep(padding_, bytes);
  position_ += bytes;
  return {padding_, Md5Pad(padding_, position_), true};
}

bool BlockReader::InHole(std::uint64_t* hole_bytes) {
  if (position_ < data_until_ || position_ >= info_.size_bytes) return false;
  const off_t at = static_cast<off_t>(position_);
  off_t data = lseek(fd_, at, SEEK_DATA);
  if (data < 0 && errno != ENXIO) {  // this file system does not tell
    data_until_ = info_.size_bytes;
    return false;
  }
  const std::uint64_t begin = data < 0 ? info_.size_bytes : static_cast<std::uint64_t>(data);
  if (begin > position_ && begin - position_ >= kHoleBytesMin) {
    *hole_bytes = std::min(begin, info_.size_bytes) - position_;
    return true;
  }
  const off_t end = lseek(fd_, static_cast<off_t>(begin), SEEK_HOLE);
  data_until_ = end < 0 ? info_.size_bytes : std::max<std::uint64_t>(static_cast<std::uint64_t>(end), position_ + 1);
  return false;
}

absl::StatusOr<BlockReader::Run> BlockReader::Next() {
  std::uint64_t hole = 0;
  if (InHole(&hole)) {
    if (hole < kMd5BlockBytes) return PaddingRun(g_zeros, hole);
    const std::size_t bytes = std::min<std::uint64_t>(hole, kZeroBytes) / kMd5BlockBytes * kMd5BlockBytes;
    Keep(g_zeros, bytes);
    position_ += bytes;
    if (position_ == info_.size_bytes) data_until_ = position_;
    return Run{g_zeros, bytes / kMd5BlockBytes, false};
  }
  return map_ && position_ % kAlignment == 0 && info_.size_bytes - position_ >= kAlignment ? NextMapped() : NextRead();
}

absl::StatusOr<BlockReader::Run> BlockReader::NextMapped() {
  const std::size_t bytes = std::min<std::uint64_t>(kWindowBytes, info_.size_bytes - position_);
  PARITECT_RETURN_IF_ERROR(file_->Charge(bytes));
  short_ = short_ || window_.damaged();
  // Pages in memory are mapped as they are touched, a cluster a fault: asking for all at once walks them twice.
  if (!window_.Map(fd_, position_, bytes, cold_).ok()) {
    map_ = false;
    return NextRead();
  }
  if (cold_) AdviseNext(position_ + bytes, kWindowBytes);
  const std::size_t whole = bytes / kMd5BlockBytes * kMd5BlockBytes;
  Keep(window_.data(), whole);
  position_ += whole;
  return Run{window_.data(), whole / kMd5BlockBytes, false};
}

absl::StatusOr<std::size_t> BlockReader::ReadSome(unsigned char* at, std::size_t bytes) {
  if (fd_ < 0) return file_->Read(absl::MakeSpan(reinterpret_cast<char*>(at), bytes));
  for (;;) {
    const off_t from = static_cast<off_t>(position_) + (at - buffer_.get());
    ssize_t n = -1;
    if (direct_ < 0 && position_ == 0 && at == buffer_.get()) {  // the first bytes tell whether it is in memory
      const iovec part = {at, bytes};
      n = preadv2(fd_, &part, 1, from, RWF_NOWAIT);
      cold_ = n < 0 && errno == EAGAIN;
    }
    if (n < 0) n = pread(direct_ >= 0 ? direct_ : fd_, at, bytes, from);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EINTR) continue;
    if (errno == EINVAL && direct_ >= 0) {  // a file system that opens past the cache but does not read so
      close(direct_);
      direct_ = -1;
      continue;
    }
    return ErrnoStatus(errno, "read", "");
  }
}

// Fills the buffer, or reads to the file's end; gives the bytes that stand in it.
absl::StatusOr<std::size_t> BlockReader::Fill(std::size_t room) {
  if (fd_ >= 0) PARITECT_RETURN_IF_ERROR(file_->Charge(std::min<std::uint64_t>(room, info_.size_bytes - position_)));
  std::size_t filled = 0;
  // Of a file that says 0 bytes (procfs does) the end is found by reading.
  while (filled < room && (info_.size_bytes == 0 || position_ + filled < info_.size_bytes)) {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, ReadSome(buffer_.get() + filled, room - filled));
    if (n == 0) break;
    filled += n;
    // Past the cache, a read that is no multiple of the block is the end.
    if (direct_ >= 0 && n % kAlignment != 0) break;
  }
  return filled;
}

absl::StatusOr<BlockReader::Run> BlockReader::NextRead() {
  short_ = short_ || window_.damaged();
  window_.Unmap();
  if (buffer_ == nullptr) {
    buffer_ = {static_cast<unsigned char*>(std::aligned_alloc(kAlignment, kReadBytes + kAlignment)), &std::free};
    if (buffer_ == nullptr) return absl::ResourceExhaustedError("no memory");
    buffer_bytes_ = kReadBytes;
  }
  static_assert(kPaddingRoom <= kAlignment);
  const std::size_t room = direct_ >= 0 ? buffer_bytes_ : std::min(buffer_bytes_, kReadBytes);
  PARITECT_ASSIGN_OR_RETURN(std::size_t filled, Fill(room));
  bool end = info_.size_bytes == 0 ? filled < room : filled < room || position_ + filled >= info_.size_bytes;
  const bool endless = info_.size_bytes == 0 && position_ > kUnsizedBytesMax;
  end = end || endless;
  short_ = short_ || endless || (end && position_ + filled < info_.size_bytes);
  Keep(buffer_.get(), filled);
  position_ += filled;
  if (!end) return Run{buffer_.get(), filled / kMd5BlockBytes, false};
  const std::size_t whole = filled / kMd5BlockBytes;
  return Run{buffer_.get(), whole + Md5Pad(buffer_.get() + whole * kMd5BlockBytes, position_), true};
}

absl::StatusOr<bool> BlockReader::Changed() {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo after, file_->Info());
  // A file that says 0 bytes and has some (procfs) is what it is; another that grew from nothing has other times.
  return short_ || window_.damaged() || !SameFile(info_, after) ||
         (info_.size_bytes != 0 && position_ != info_.size_bytes);
}

}  // namespace paritect
