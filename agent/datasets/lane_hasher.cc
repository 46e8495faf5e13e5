#include "agent/datasets/lane_hasher.h"

#include <fcntl.h>
#include <time.h>

#include <algorithm>

namespace paritect {
namespace {

constexpr std::uint64_t kStateStep = 4 << 20;
constexpr std::uint64_t kHugeStateStep = std::uint64_t{1} << 30;
constexpr std::uint64_t kHugeBytes = std::uint64_t{64} << 30;
constexpr std::size_t kAheadMax = 24;
constexpr std::uint64_t kAheadBytes = 2 << 20;
constexpr std::size_t kReachedEvery = 16;  // states between two marks for a later run: 64 MiB

std::int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the file systems' own
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

std::uint64_t StateStepBytes(std::uint64_t file_bytes) {
  return file_bytes >= kHugeBytes ? kHugeStateStep : kStateStep;
}

struct LaneHasher::Lane {
  explicit Lane(const BlockReaderOptions& options) : reader(options) {}
  BlockReader reader;
  std::uint32_t id = 0;
  std::int64_t began_ns = 0;
  BlockReader::Run run;
  std::uint64_t hashed = 0;  // bytes, padding not counted apart
  std::uint64_t next_state = 0;
  std::uint64_t step = 0;
  bool again = false;  // the second time, after a change
  std::vector<Md5State> states;
};

LaneHasher::LaneHasher(HashWork& work, const BlockReaderOptions& options)
    : work_(work), options_(options), lanes_max_(static_cast<std::size_t>(Md5Lanes())), md5_(lanes_max_) {
  for (std::size_t i = 0; i < lanes_max_; ++i) lanes_.push_back(std::make_unique<Lane>(options));
}

LaneHasher::~LaneHasher() = default;

void LaneHasher::Run() {
  for (;;) {
    FillLanes();
    if (active_ == 0) return;
    RunBlocks();
  }
}

// On a cold disk the next files are opened before their turn, so that many requests are under way at once.
std::optional<LaneHasher::Opened> LaneHasher::TakeFile() {
  const std::size_t wanted = cold_ ? kAheadMax : 1;
  while (ahead_.size() < wanted) {
    const std::optional<std::uint32_t> id = work_.Next();
    if (!id) break;
    const std::int64_t began = NowNs();
    ahead_.push_back({*id, began, work_.Open(*id)});
    const auto& file = ahead_.back().file;
    if (!cold_ || !file.ok() || (*file)->Descriptor() < 0 || options_.past_cache) continue;
    posix_fadvise((*file)->Descriptor(), 0, kAheadBytes, POSIX_FADV_WILLNEED);
  }
  if (ahead_.empty()) return std::nullopt;
  Opened first = std::move(ahead_.front());
  ahead_.pop_front();
  return first;
}

void LaneHasher::FillLanes() {
  while (active_ < lanes_max_ && active_ < static_cast<std::size_t>(std::max(1, work_.FilesAtOnce(cold_)))) {
    std::optional<Opened> opened = TakeFile();
    if (!opened) return;
    if (Begin(*lanes_[active_], *std::move(opened))) ++active_;
  }
}

void LaneHasher::Fail(const Lane& lane, absl::Status status) {
  HashedFile result;
  result.status = std::move(status);
  work_.Done(lane.id, std::move(result));
}

// A page that is dirty already is written to through a mapping without a stamp, however long ago the stamp was; once it
// is written out, the next store faults and stamps the file (Linux: clear_page_dirty_for_io, file_update_time).
static void WriteOut(File& file) {
  if (file.Descriptor() < 0) return;
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  (void)sync_file_range(file.Descriptor(), 0, 0, kAll);  // a disk without it (ESPIPE, EINVAL) keeps what it had
}

// False: there is nothing to hash, and it was said.
bool LaneHasher::Begin(Lane& lane, Opened opened) {
  lane.id = opened.id;
  lane.began_ns = opened.began_ns;
  lane.again = false;
  if (!opened.file.ok()) {
    Fail(lane, opened.file.status());
    return false;
  }
  if (options_.settle) WriteOut(**opened.file);
  auto info = (*opened.file)->InfoAtOpen();
  if (!info.ok()) {
    Fail(lane, info.status());
    return false;
  }
  lane.step = StateStepBytes(info->size_bytes);
  lane.states = info->size_bytes > lane.step ? work_.StartOf(lane.id, *info).states : std::vector<Md5State>();
  const std::uint64_t from = lane.states.size() * lane.step;
  if (absl::Status started = lane.reader.Start(*std::move(opened.file), from); !started.ok()) {
    Fail(lane, started);
    return false;
  }
  lane.hashed = from;
  lane.next_state = from + lane.step;
  md5_[active_] = Md5Lane{};
  if (!lane.states.empty()) md5_[active_].state = lane.states.back();
  if (from > 0) work_.DoneBytes(from);
  return NextRun(active_);
}

// The file once more from its beginning, on the lane's place.
bool LaneHasher::Reopen(Lane& lane) {
  lane.began_ns = NowNs();
  auto file = work_.Open(lane.id);
  if (!file.ok()) {
    Fail(lane, file.status());
    return false;
  }
  if (options_.settle) WriteOut(**file);
  if (absl::Status started = lane.reader.Start(*std::move(file), 0); !started.ok()) {
    Fail(lane, started);
    return false;
  }
  lane.again = true;
  lane.step = StateStepBytes(lane.reader.info().size_bytes);
  lane.states.clear();
  lane.hashed = 0;
  lane.next_state = lane.step;
  return true;
}

bool LaneHasher::NextRun(std::size_t at) {
  Lane& lane = *lanes_[at];
  auto run = lane.reader.Next();
  if (!run.ok()) {
    Fail(lane, run.status());
    lane.reader.Close();
    return false;
  }
  lane.run = *run;
  md5_[at].data = run->data;
  return true;
}

void LaneHasher::Free(std::size_t at) {
  lanes_[at]->reader.Close();
  --active_;
  std::swap(lanes_[at], lanes_[active_]);
  std::swap(md5_[at], md5_[active_]);
}

// As many blocks as every lane has, up to the next place where a lane keeps its state.
void LaneHasher::RunBlocks() {
  std::size_t blocks = lanes_[0]->run.blocks;
  for (std::size_t i = 0; i < active_; ++i) {
    const Lane& lane = *lanes_[i];
    blocks = std::min({blocks, lane.run.blocks, (lane.next_state - lane.hashed) / kMd5BlockBytes});
  }
  Md5RunLanes(absl::MakeSpan(md5_).subspan(0, active_), blocks);
  work_.DoneBytes(active_ * blocks * kMd5BlockBytes);
  // From the end, for a lane that is freed takes the last one's place.
  for (std::size_t i = active_; i > 0; --i) {
    if (!Settle(i - 1, blocks)) Free(i - 1);
  }
}

// False: the lane is free.
bool LaneHasher::Settle(std::size_t at, std::size_t blocks) {
  Lane& lane = *lanes_[at];
  lane.hashed += blocks * kMd5BlockBytes;
  lane.run.blocks -= blocks;
  // The padding's blocks may reach a step that the file does not.
  if (lane.hashed == lane.next_state) {
    if (lane.hashed <= lane.reader.info().size_bytes) lane.states.push_back(md5_[at].state);
    lane.next_state += lane.step;
    if (lane.states.size() % kReachedEvery == 0) work_.Reached(lane.id, lane.reader.info(), lane.states, lane.began_ns);
  }
  if (lane.run.blocks > 0) return true;
  if (lane.run.last) return Finish(at);
  return NextRun(at);
}

bool LaneHasher::Finish(std::size_t at) {
  Lane& lane = *lanes_[at];
  auto changed = lane.reader.Changed();
  if (!changed.ok()) {
    Fail(lane, changed.status());
    return false;
  }
  if (*changed && !lane.again) {
    if (!Reopen(lane)) return false;
    md5_[at] = Md5Lane{};
    return NextRun(at);
  }
  cold_ = lane.reader.was_cold();
  HashedFile result;
  result.changed = *changed;
  result.past_cache = lane.reader.was_past_cache();
  result.info = lane.reader.info();
  result.began_ns = lane.began_ns;
  result.size_bytes = lane.reader.bytes_read();
  Md5Digest(md5_[at].state, result.md5);
  result.head = lane.reader.head();
  result.tail = lane.reader.tail();
  result.states = std::move(lane.states);
  lane.states.clear();
  work_.Done(lane.id, std::move(result));
  return false;
}

}  // namespace paritect
