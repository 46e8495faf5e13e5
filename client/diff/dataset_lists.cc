#include "client/diff/dataset_lists.h"

#include "absl/strings/str_cat.h"
#include "agent/datasets/follow_up.h"
#include "agent/datasets/names.h"
#include "checks/datasets/follow_up.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/file_hints.h"
#include "formats/datasets/manifest.h"

namespace paritect {

absl::StatusOr<v1::FileList> ReadDatasetTree(CommandEnv& env, const std::string& path, const TreeOptions& options,
                                             const HashOptions& hash) {
  PARITECT_ASSIGN_OR_RETURN(v1::FileList list, HashDataset(env.fs, path, options, hash));
  list.set_root(path);
  return list;
}

absl::StatusOr<v1::FileList> ReadDatasetManifest(CommandEnv& env, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(env.fs, path, kManifestFileBytesMax));
  v1::FileEntry self;
  AddContentHints(absl::string_view(bytes).substr(0, kHintHeadBytes), "", bytes.size(), self);
  if (self.hints_size() > 0) {
    return absl::DataLossError(absl::StrCat(DisplayBytes(path), ": no list: empty, a Git LFS pointer or an HTML page"));
  }
  auto list = ParseManifest(bytes, path);
  if (!list.ok()) return Annotate(list.status(), DisplayBytes(path));
  // Where the list lies in the set that it lists, its bytes tell.
  v1::Note& own = *list->add_notes();
  own.set_kind("list_md5");
  own.set_message(ToHex(Md5(bytes)));
  for (v1::Problem& problem : *list->mutable_incomplete()) (*problem.mutable_args())["source"] = DisplayBytes(path);
  for (v1::FileEntry& file : *list->mutable_files()) {
    AddNameHints(file.path(), file);
    AddNameReadings(file);
    if (file.has_error()) (*file.mutable_error()->mutable_args())["source"] = DisplayBytes(file.path());
  }
  return list;
}

absl::StatusOr<v1::FileList> ReadDatasetAny(CommandEnv& env, const std::string& path, const TreeOptions& tree,
                                            const HashOptions& hash) {
  PARITECT_ASSIGN_OR_RETURN(FileInfo info, env.fs.Stat(path));
  if (info.type == FileInfo::Type::kDirectory) return ReadDatasetTree(env, path, tree, hash);
  return ReadDatasetManifest(env, path);
}

std::unique_ptr<EvidenceSet> PairLists(CommandEnv& env, v1::FileList baseline, v1::FileList migrated) {
  std::vector<v1::Bundle> bundles(2);
  v1::FileList* lists[] = {&baseline, &migrated};
  for (std::size_t i = 0; i < 2; ++i) {
    bundles[i].mutable_plan()->set_run(i == 0 ? "A" : "B");
    v1::Evidence& evidence = *bundles[i].add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(lists[i]->root());
    *evidence.mutable_files() = std::move(*lists[i]);
  }
  // Whoever gives a list of SHA-256 wants all of it compared.
  const FollowUpLimits limits = {.digest_files_max = SIZE_MAX, .digest_bytes_max = UINT64_MAX, .record_files_max = 0};
  return AnsweredEvidence({std::move(bundles[0])}, {std::move(bundles[1])}, limits,
                          [&](const DatasetQuestion& question, const v1::FileList&, OwnList own) {
                            AnswerDatasetQuestion(env.fs, question.path, question.laws, own());
                          });
}

std::vector<ListGap> GapsOf(const CommandEnv& env, const v1::FileList& list) {
  std::vector<ListGap> gaps;
  const auto Add = [&](const v1::Problem& problem) {
    const MessageArgs args(problem.args().begin(), problem.args().end());
    gaps.push_back({problem.id(), env.rules.messages.Say(problem.id(), args)});
  };
  for (const v1::Problem& problem : list.incomplete()) Add(problem);
  for (const v1::UnreadFolder& folder : list.unread_folders()) Add(folder.problem());
  for (const v1::FileEntry& file : list.files()) {
    if (file.has_error()) Add(file.error());
  }
  return gaps;
}

}  // namespace paritect
