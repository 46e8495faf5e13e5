// Two lists of a million files with ten differences, and two equal ones: bytes exchanged and time, by content-addressed
// parts and the tree of their digests (formats/evidence_parts.h, formats/content_tree.h).
#include <chrono>
#include <cstdio>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/digest.h"
#include "formats/content_tree.h"
#include "formats/evidence_parts.h"

namespace paritect {
namespace {

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

v1::Evidence List(int files, bool changed) {
  v1::Evidence evidence;
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(changed ? "/npu/train" : "/gpu/train");
  v1::FileList& list = *evidence.mutable_files();
  list.set_dataset("train");
  list.set_format("tree");
  list.set_root(evidence.source());
  for (int i = 0; i < files; ++i) {
    const int kind = changed && i % (files / 10) == 77 ? i / (files / 10) % 3 : -1;
    if (kind == 0) continue;  // missing
    v1::FileEntry& file = *list.add_files();
    file.set_path(absl::StrFormat("n%08d/image_%08d.JPEG", i / 1300, i));
    file.set_type(v1::FILE_TYPE_REGULAR);
    file.set_size_bytes(100'000 + static_cast<std::uint64_t>(i) % 5000);
    file.set_md5(Md5(absl::StrCat(kind == 1 ? "changed " : "", i)));
    if (kind != 2) continue;
    v1::FileEntry& extra = *list.add_files();
    extra = file;
    extra.set_path(file.path() + ".1");
  }
  return evidence;
}

struct Parts {
  EvidenceParts parts;
  double seconds = 0;
  std::size_t bytes = 0;
};

Parts Make(v1::Evidence evidence) {
  Parts out;
  const auto start = std::chrono::steady_clock::now();
  out.parts = *TakeApart(evidence);
  out.seconds = Since(start);
  for (const EvidenceParts::Content& one : out.parts.contents) out.bytes += one.bytes.size();
  return out;
}

std::size_t Exchange(const char* name, const EvidenceParts& from, const EvidenceParts& known, std::size_t all) {
  const auto start = std::chrono::steady_clock::now();
  absl::flat_hash_set<std::string> held;
  for (const EvidenceParts::Content& one : known.contents) held.insert(one.sha256);
  for (const auto& [digest, node] : known.tree.nodes) held.insert(digest);
  const double loaded = Since(start);
  absl::flat_hash_map<absl::string_view, std::size_t> size_of;
  for (const EvidenceParts::Content& one : from.contents) size_of[one.sha256] = one.bytes.size();
  const auto begin = std::chrono::steady_clock::now();
  const TreeExchange exchange = PlanExchange(from.tree, [&](const std::vector<std::string>& digests, int) {
    std::vector<bool> out;
    for (const std::string& digest : digests) out.push_back(held.contains(digest));
    return out;
  });
  std::size_t contents = 0;
  for (const std::string& leaf : exchange.leaves) contents += size_of[leaf];
  std::printf(
      "%-16s %d rounds, %zu bytes of tree, %zu parts of %zu with %zu bytes of %zu; %.3f ms (index of what is "
      "held: %.1f ms)\n",
      name, exchange.rounds, exchange.bytes, exchange.leaves.size(), from.contents.size(), contents, all,
      1e3 * Since(begin), 1e3 * loaded);
  return exchange.bytes + contents;
}

}  // namespace
}  // namespace paritect

int main() {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  constexpr int kFiles = 1'000'000;
  const Parts gpu = Make(List(kFiles, false));
  const Parts npu = Make(List(kFiles, true));
  std::printf("%d files: taken apart and made a tree in %.2f s and %.2f s, %zu nodes, depth %d\n", kFiles, gpu.seconds,
              npu.seconds, gpu.parts.tree.nodes.size(), gpu.parts.tree.depth);
  const std::size_t equal = Exchange("equal", gpu.parts, gpu.parts, gpu.bytes);
  (void)Exchange("10 differences", npu.parts, gpu.parts, npu.bytes);
  return equal <= 100 ? 0 : 1;
}
