// Hashes many files at once on one thread: a file a lane, a lane refilled at the end of its file.
#ifndef PARITECT_AGENT_DATASETS_LANE_HASHER_H_
#define PARITECT_AGENT_DATASETS_LANE_HASHER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/datasets/block_reader.h"
#include "common/file_system.h"
#include "common/md5/md5_lanes.h"

namespace paritect {

// A chaining state is kept every so many bytes: 4 MiB, of huge files (64 GiB and more) 1 GiB. With the same step on
// both sides they tell the first differing part of two files, for 16 bytes a step; a stopped run goes on from one.
std::uint64_t StateStepBytes(std::uint64_t file_bytes);

struct HashedFile {
  absl::Status status;           // why there is no digest
  bool changed = false;          // it changed while it was read, twice: no digest either
  bool past_cache = false;       // read past the page cache
  FileInfo info;                 // as opened
  std::int64_t began_ns = 0;     // the clock before it was opened
  std::uint64_t size_bytes = 0;  // that were hashed
  unsigned char md5[kMd5Bytes] = {};
  absl::string_view head;  // valid during HashWork::Done; only where asked for
  absl::string_view tail;
  std::vector<Md5State> states;  // after each StateStepBytes
};

// What was known of a file's beginning before.
struct HashStart {
  std::vector<Md5State> states;
};

// Where files come from and digests go. Everything is called on the hashers' threads, several at once.
class HashWork {
 public:
  virtual ~HashWork() = default;
  // A file to hash; nullopt: none now.
  virtual std::optional<std::uint32_t> Next() = 0;
  virtual absl::StatusOr<std::unique_ptr<File>> Open(std::uint32_t id) = 0;
  // What an earlier run left of this file, as it is now.
  virtual HashStart StartOf(std::uint32_t id, const FileInfo& info) = 0;
  virtual void Done(std::uint32_t id, HashedFile file) = 0;
  virtual void DoneBytes(std::uint64_t bytes) = 0;  // for the progress; padding counts too
  // A state of a large file that is not done yet: whoever goes on later needs it.
  virtual void Reached(std::uint32_t id, const FileInfo& info, const std::vector<Md5State>& states,
                       std::int64_t read_began_ns) = 0;
  // How many files one thread should have open now: few files are shared among the threads. `cold`: the last one came
  // from the disk, not from memory.
  virtual int FilesAtOnce(bool cold) = 0;
};

class LaneHasher {
 public:
  LaneHasher(HashWork& work, const BlockReaderOptions& options);
  ~LaneHasher();

  // Returns when no file is left for now and all begun are done.
  void Run();

 private:
  struct Lane;
  struct Opened {
    std::uint32_t id;
    std::int64_t began_ns;
    absl::StatusOr<std::unique_ptr<File>> file;
  };

  std::optional<Opened> TakeFile();
  void FillLanes();
  bool Begin(Lane& lane, Opened opened);
  bool Reopen(Lane& lane);
  bool NextRun(std::size_t at);
  void RunBlocks();
  bool Settle(std::size_t at, std::size_t blocks);
  bool Finish(std::size_t at);
  void Fail(const Lane& lane, absl::Status status);
  void Free(std::size_t at);

  HashWork& work_;
  const BlockReaderOptions options_;
  const std::size_t lanes_max_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // [0, active_) are busy
  std::vector<Md5Lane> md5_;                  // beside lanes_
  std::size_t active_ = 0;
  std::deque<Opened> ahead_;  // opened, their content asked for: of cold disks
  bool cold_ = false;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_LANE_HASHER_H_
