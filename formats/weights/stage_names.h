// Names of layers and experts that each stage of a parallel layout counts from 0, made those of the whole model.
#ifndef PARITECT_FORMATS_WEIGHTS_STAGE_NAMES_H_
#define PARITECT_FORMATS_WEIGHTS_STAGE_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

// Of one rank's file.
struct StagePlace {
  std::int64_t pipeline = 0;
  std::int64_t expert = 0;
};

class StageNames {
 public:
  // Every name of every rank, before the first is asked for.
  void Add(const StagePlace& place, absl::string_view name);
  // "model1.decoder.layers.0.mlp.weight" of pipeline rank 1: layer 0 of the chunk after all first chunks and those of
  // the ranks before. Names without layers and experts stay, but for the chunk.
  std::string Whole(const StagePlace& place, absl::string_view name) const;

 private:
  // Chunks of the model follow each other over all pipeline ranks, then the next chunks do (virtual stages).
  using Stage = std::pair<std::int64_t, std::int64_t>;  // chunk, pipeline rank
  std::map<Stage, std::int64_t> layers_;                // how many
  std::map<std::int64_t, std::int64_t> experts_;        // by expert rank
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_STAGE_NAMES_H_
