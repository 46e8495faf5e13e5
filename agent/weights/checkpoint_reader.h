// One checkpoint read to fingerprints: with progress, by the cache where it has not changed, and with the signs of what
// changed since the state that was read before.
#ifndef PARITECT_AGENT_WEIGHTS_CHECKPOINT_READER_H_
#define PARITECT_AGENT_WEIGHTS_CHECKPOINT_READER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/collector.h"
#include "agent/weights/fingerprint_cache.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

// Values at a few places of each tensor by name, in memory alone, until the next state of the same rank is read.
using KeptValues = std::map<std::string, std::vector<double>>;

struct CheckpointRead {
  v1::Weights weights;
  v1::SettingsDocument settings;  // formats/weights/facts_settings.h; not yet without secrets
};

class CheckpointReader {
 public:
  // `env` must outlive this.
  explicit CheckpointReader(const CollectorEnv& env) : env_(env), cache_(env.digest_cache, !env.read_all) {}

  // Step, stage and rank are left to the caller. `kept`: values of the state before on entry, of this one on return;
  // nullptr: none are kept. The errors of OpenWeights and of its tensors.
  absl::StatusOr<CheckpointRead> Read(const std::string& path, KeptValues* kept);

 private:
  absl::StatusOr<CachedFingerprints> ReadFiles(const std::string& path, bool keep);

  const CollectorEnv& env_;
  FingerprintCache cache_;
  std::int64_t files_done_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_WEIGHTS_CHECKPOINT_READER_H_
