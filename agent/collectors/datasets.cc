// Data sets: every file below a root, with its size and MD5.
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "common/digest.h"
#include "common/glob.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kReadBytes = 1 << 17;

absl::StatusOr<std::string> HashFile(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  Digest digest(DigestKind::kMd5);
  if (!digest.available()) return absl::FailedPreconditionError("this OpenSSL refuses MD5");
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, file->Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    digest.Update(absl::string_view(buffer.data(), n));
  }
  return digest.Finish();
}

void Walk(FileSystem& fs, const std::string& root, v1::FileList& list) {
  std::vector<std::string> folders = {""};
  while (!folders.empty()) {
    const std::string folder = folders.back();
    folders.pop_back();
    std::vector<std::string> names;
    (void)fs.List(JoinPath(root, folder), [&](const DirectoryEntry& entry) { names.push_back(entry.name); });
    for (const std::string& name : names) {
      const std::string relative = JoinPath(folder, name);
      const std::string path = JoinPath(root, relative);
      auto info = fs.LStat(path);
      if (!info.ok()) continue;
      if (info->type == FileInfo::Type::kDirectory) {
        folders.push_back(relative);
        continue;
      }
      v1::FileEntry& file = *list.add_files();
      file.set_path(relative);
      file.set_size_bytes(info->size_bytes);
      if (auto md5 = HashFile(fs, path); md5.ok()) file.set_md5(*md5);
    }
  }
  std::sort(list.mutable_files()->begin(), list.mutable_files()->end(),
            [](const v1::FileEntry& a, const v1::FileEntry& b) { return a.path() < b.path(); });
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::DatasetSource& source : plan.datasets()) {
    if (source.root().empty()) continue;
    const std::string root = ResolvePath(plan, source.root());
    if (auto info = env.fs.Stat(root); !info.ok()) {
      sink(ProblemEvidence(v1::EVIDENCE_KIND_DATASET_FILES, source.root(), info.status()));
      continue;
    }
    v1::Evidence evidence;
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(source.root());
    evidence.set_subject(source.name());
    evidence.mutable_files()->set_dataset(source.name());
    evidence.mutable_files()->set_format("tree");
    evidence.mutable_files()->set_part(source.part());
    Walk(env.fs, root, *evidence.mutable_files());
    sink(std::move(evidence));
  }
}

}  // namespace

extern const Collector kDatasetsCollector;
const Collector kDatasetsCollector = {"datasets", "file lists with MD5", &Collect};

}  // namespace paritect
