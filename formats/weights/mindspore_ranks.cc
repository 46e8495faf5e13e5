// MindSpore's checkpoints of a parallel run: rank_0, rank_1, ... beside each other, in each PREFIX-EPOCH_STEP.ckpt or
// .safetensors. Of each rank the last step is read that all ranks have; parts of tensors stand under one name on every
// rank, replicas as well. Source: mindspore.train.ModelCheckpoint, CheckpointConfig.
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/weights_folder.h"
#include "formats/weights/weights_format.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kRanksMax = 10'000;

std::optional<std::int64_t> RankOf(const std::string& name) {
  static const re2::RE2 kPattern("rank_(\\d{1,6})");
  std::string number;
  return re2::RE2::FullMatch(name, kPattern, &number) ? ParseInt(number) : std::nullopt;
}

// Epoch and step in the name; files without them stand for step 0 of epoch 0.
using When = std::pair<std::int64_t, std::int64_t>;

std::optional<When> WhenOf(const std::string& name) {
  static const re2::RE2 kPattern("(?:.*?)(?:-(\\d{1,9})_(\\d{1,9}))?\\.(?:ckpt|safetensors)");
  std::string epoch, step;
  if (!re2::RE2::FullMatch(name, kPattern, &epoch, &step)) return std::nullopt;
  return When{ParseInt(epoch).value_or(0), ParseInt(step).value_or(0)};
}

using Files = std::map<When, std::string>;  // in the folder of one rank

absl::StatusOr<std::map<std::int64_t, Files>> FilesOfRanks(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  std::map<std::int64_t, Files> ranks;
  for (const std::string& name : sample.names) {
    const auto rank = RankOf(name);
    if (!rank) continue;
    if (ranks.size() >= kRanksMax) return absl::ResourceExhaustedError(StrCat("more than ", kRanksMax, " ranks"));
    PARITECT_ASSIGN_OR_RETURN(const WeightsSample folder, SampleWeights(fs, JoinPath(path, name)));
    Files& files = ranks[*rank];
    for (const std::string& file : folder.names) {
      if (const auto when = WhenOf(file)) files[*when] = JoinPath(name, file);
    }
  }
  return ranks;
}

// The last one that every rank has; nullopt: none.
std::optional<When> LastOfAll(const std::map<std::int64_t, Files>& ranks) {
  std::map<When, std::size_t> counts;
  for (const auto& [rank, files] : ranks) {
    for (const auto& [when, file] : files) ++counts[when];
  }
  for (auto one = counts.rbegin(); one != counts.rend(); ++one) {
    if (one->second == ranks.size()) return one->first;
  }
  return std::nullopt;
}

bool Sniff(const WeightsSample& sample) {
  return sample.is_folder && std::any_of(sample.names.begin(), sample.names.end(),
                                         [](const std::string& name) { return RankOf(name).has_value(); });
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const auto ranks, FilesOfRanks(fs, path));
  const auto when = LastOfAll(ranks);
  if (!when) {
    return absl::DataLossError(
        StrCat(DisplayBytes(path), ": no checkpoint of one epoch and step stands in every folder rank_..."));
  }
  auto out = std::make_unique<StoredTensors>("mindspore-ranks");
  for (const auto& [rank, files] : ranks) {
    const std::string& file = files.at(*when);
    auto source = OpenWeights(fs, JoinPath(path, file));
    if (!source.ok()) return Annotate(source.status(), DisplayBytes(file));
    PARITECT_RETURN_IF_ERROR(out->Absorb(std::move(**source), file));
  }
  const std::int64_t last = ranks.rbegin()->first;
  if (last + 1 != static_cast<std::int64_t>(ranks.size())) {
    out->AddIncomplete("weights_ranks_missing",
                       {{"what", "rank_"}, {"stated", StrCat(last + 1)}, {"found", StrCat(ranks.size())}});
  }
  return out;
}

}  // namespace

extern const WeightsFormat kMindsporeRanksWeights;
const WeightsFormat kMindsporeRanksWeights = {"mindspore-ranks", &Sniff, &Open};

}  // namespace paritect
