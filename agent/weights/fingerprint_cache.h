// Fingerprints of checkpoints that have not changed since they were read: a second audit reads no tensor again.
//
// The key is what the digest cache of data sets uses (agent/datasets/digest_cache.h), of every file of the checkpoint:
// device, inode, size, mtime and ctime. A file whose times are younger than a margin before it was read could be
// changed again within one clock tick, and is not kept. One file a checkpoint below FOLDER/weights, with a digest at
// its end; what does not fit is left out. It holds a few thousand sampled values a tensor besides, and never leaves the
// machine.
#ifndef PARITECT_AGENT_WEIGHTS_FINGERPRINT_CACHE_H_
#define PARITECT_AGENT_WEIGHTS_FINGERPRINT_CACHE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/file_system.h"
#include "paritect/v1/settings.pb.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

struct CachedFingerprints {
  v1::Weights weights;
  v1::SettingsDocument settings;                      // what the checkpoint tells of how it was trained
  std::map<std::string, std::vector<double>> values;  // sampled, by tensor
  bool has_values = false;
};

class FingerprintCache {
 public:
  // `folder` empty: nothing is found and nothing kept. `read` false: what is read is kept all the same.
  // Entries beyond `limit_bytes` go, the oldest first.
  FingerprintCache(std::string folder, bool read, std::uint64_t limit_bytes = kLimitBytes);

  std::optional<CachedFingerprints> Find(const std::vector<FileInfo>& files) const;
  void Add(const std::vector<FileInfo>& files, const CachedFingerprints& fingerprints, absl::Time began) const;

 private:
  static constexpr std::uint64_t kLimitBytes = 1ull << 30;
  void Prune() const;
  std::string PathOf(const std::vector<FileInfo>& files) const;

  std::string folder_;
  bool read_;
  std::uint64_t limit_bytes_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_WEIGHTS_FINGERPRINT_CACHE_H_
