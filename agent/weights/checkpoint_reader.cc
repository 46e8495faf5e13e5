#include "agent/weights/checkpoint_reader.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/weights/page_cache.h"
#include "common/status_macros.h"
#include "formats/weights/facts_settings.h"
#include "formats/weights/fingerprint.h"
#include "formats/weights/sketch.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

// Lists of tensors state SHA-256 or MD5, and what they are held against must have it; at about 1 GB/s that is spent on
// checkpoints up to this size alone.
constexpr std::uint64_t kAllDigestsBytesMax = 1ull << 30;
constexpr std::size_t kKeptValuesMax = 8'000'000;  // of all tensors of one state: 64 MB
constexpr absl::Duration kProgressEvery = absl::Milliseconds(250);

std::uint64_t BytesOf(const TensorSource& source) {
  std::uint64_t bytes = 0;
  for (const TensorInfo& info : source.tensors()) bytes += info.bytes;
  return bytes;
}

// Every file that may stand behind the checkpoint.
std::vector<std::string> PathsOf(const std::string& path, const TensorSource& source) {
  std::set<std::string> names = {path};
  for (const TensorInfo& info : source.tensors()) {
    if (info.file.empty()) continue;
    names.insert(JoinPath(path, info.file));                        // of a folder
    names.insert(JoinPath(std::string(DirName(path)), info.file));  // of an index
  }
  return {names.begin(), names.end()};
}

// As they are now.
std::vector<FileInfo> FilesOf(FileSystem& fs, const std::vector<std::string>& paths) {
  std::vector<FileInfo> files;
  for (const std::string& path : paths) {
    auto info = fs.Stat(path);
    if (info.ok()) files.push_back(*info);
  }
  return files;
}

// Values of files (arguments, paths, tokens of services) stay on the node; numbers and switches go along.
void DropTexts(v1::Weights& weights) {
  auto& facts = *weights.mutable_facts();
  for (int i = facts.size() - 1; i >= 0; --i) {
    const v1::Value& value = facts[i].value();
    if (value.has_text() || value.has_list()) facts.DeleteSubrange(i, 1);
  }
}

class Progress {
 public:
  Progress(const CollectorEnv& env, std::int64_t files_done, std::uint64_t total) : env_(env) {
    now_ = {.stage = "weights", .files_done = files_done, .bytes_total = static_cast<std::int64_t>(total)};
  }
  void Add(std::size_t bytes) {
    now_.bytes_done += static_cast<std::int64_t>(bytes);
    if (!env_.progress || absl::Now() - told_ < kProgressEvery) return;
    told_ = absl::Now();
    env_.progress(now_);
  }

 private:
  const CollectorEnv& env_;
  CollectProgress now_;
  absl::Time told_ = absl::InfinitePast();
};

}  // namespace

absl::StatusOr<CachedFingerprints> CheckpointReader::ReadFiles(const std::string& path, bool keep) {
  const absl::Time began = absl::Now();
  PARITECT_ASSIGN_OR_RETURN(const auto source, OpenWeights(env_.fs, path));
  const std::vector<std::string> paths = PathsOf(path, *source);
  const std::vector<FileInfo> files = FilesOf(env_.fs, paths);
  if (auto cached = cache_.Find(files); cached.has_value() && (!keep || cached->has_values)) return *std::move(cached);
  CachedFingerprints result;
  result.has_values = keep;
  const PageCacheGuard guard(env_.fs, paths);
  FingerprintOptions options;
  options.sha256 = options.md5 = BytesOf(*source) <= kAllDigestsBytesMax;
  Progress progress(env_, files_done_, BytesOf(*source));
  std::size_t room = keep ? kKeptValuesMax : 0;
  PARITECT_ASSIGN_OR_RETURN(
      result.weights,
      FingerprintWeights(*source, options,
                         {.keep_places =
                              [&](const TensorInfo& info) {
                                if (room == 0) return std::vector<std::uint64_t>();
                                std::vector<std::uint64_t> places = SignPlaces(info.elements);
                                room -= std::min(room, places.size());
                                return places;
                              },
                          .kept = [&](const TensorInfo& info,
                                      std::vector<double> values) { result.values[info.name] = std::move(values); },
                          .read = [&](std::size_t bytes) { progress.Add(bytes); }},
                         {.count = env_.log_jobs, .open = [&]() -> absl::StatusOr<std::unique_ptr<TensorSource>> {
                            return OpenWeights(env_.fs, path);
                          }}));
  result.settings = FactsAsSettings(result.weights, "");
  DropTexts(result.weights);
  cache_.Add(files, result, began);
  return result;
}

absl::StatusOr<CheckpointRead> CheckpointReader::Read(const std::string& path, KeptValues* kept) {
  PARITECT_ASSIGN_OR_RETURN(CachedFingerprints read, ReadFiles(path, kept != nullptr));
  ++files_done_;
  if (kept == nullptr) return CheckpointRead{std::move(read.weights), std::move(read.settings)};
  for (v1::TensorFingerprint& tensor : *read.weights.mutable_tensors()) {
    const auto now = read.values.find(tensor.name());
    const auto before = kept->find(tensor.name());
    if (now == read.values.end() || before == kept->end() || before->second.size() != now->second.size()) continue;
    std::vector<double> change(now->second.size());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] = now->second[i] - before->second[i];
    tensor.set_sampled_signs(SignsOf(change));
  }
  // Files of one state come one after the other: each brings its own tensors.
  for (auto& [name, values] : read.values) (*kept)[name] = std::move(values);
  return CheckpointRead{std::move(read.weights), std::move(read.settings)};
}

}  // namespace paritect
