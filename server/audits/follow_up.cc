#include "server/audits/follow_up.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "checks/datasets/follow_up.h"

namespace paritect {
namespace {

std::string FollowUpId(const v1::NodeTask& first) {
  return absl::StrCat(first.task_id(), ".files");
}

v1::FileQuestion MakeQuestion(const EvidenceSet& evidence, const DatasetQuestion& question, const v1::FileList& list) {
  v1::FileQuestion file;
  file.set_evidence(question.evidence);
  file.set_root(list.root());
  file.set_path(question.path);
  for (const std::string& law : question.laws) file.add_laws(law);
  const auto& files = evidence.FilesOf(list);  // sorted by path
  const auto entry = std::lower_bound(files.begin(), files.end(), question.path,
                                      [](const v1::FileEntry& f, const std::string& path) { return f.path() < path; });
  if (entry != files.end() && entry->path() == question.path) file.set_size_bytes(entry->size_bytes());
  return file;
}

// The bundle that the task's questions are about; nullptr: it is not among the evidence.
v1::Bundle* BundleAskedAbout(const v1::AuditRun& run, const v1::NodeTask& task, Gathered& gathered) {
  GatheredSide& side = gathered.side(task.migrated() ? Side::kMigrated : Side::kBaseline);
  for (std::size_t i = 0; i < side.bundles.size(); ++i) {
    if (side.task_of[i] < 0) continue;
    const v1::NodeTask& first = run.tasks(side.task_of[i]);
    if (FollowUpId(first) == task.task_id() && first.node() == task.node()) return &side.bundles[i];
  }
  return nullptr;
}

void MergeAnswer(const v1::FileList& answer, v1::FileList& list) {
  std::map<absl::string_view, const v1::FileEntry*> answered;
  for (const v1::FileEntry& file : answer.files()) answered[file.path()] = &file;
  for (v1::FileEntry& file : *list.mutable_files()) {
    const auto known = answered.find(file.path());
    if (known == answered.end()) continue;
    file.mutable_alternates()->MergeFrom(known->second->alternates());
    if (!known->second->has_record_look()) continue;
    *file.mutable_record_look() = known->second->record_look();
    if (known->second->has_records()) file.set_records(known->second->records());
  }
}

}  // namespace

std::vector<v1::NodeTask> FileQuestionTasks(const EvidenceSet& evidence, const Gathered& gathered,
                                            const v1::AuditRun& run) {
  std::map<int, v1::NodeTask> asked;  // by the index of the task that listed the files
  for (const DatasetQuestion& question : DatasetQuestions(evidence)) {
    const auto bundle = static_cast<std::size_t>(question.bundle);
    const int task = gathered.side(question.side).task_of[bundle];
    if (task < 0) continue;
    v1::NodeTask& follow_up = asked[task];
    if (follow_up.task_id().empty()) {
      const v1::NodeTask& first = run.tasks(task);
      follow_up.set_task_id(FollowUpId(first));
      follow_up.set_node(first.node());
      follow_up.set_migrated(first.migrated());
      follow_up.set_plan(first.plan());
      follow_up.set_state(v1::NODE_TASK_STATE_WAITING);
    }
    const v1::Evidence& one = evidence.bundles(question.side)[bundle].evidence(question.evidence);
    *follow_up.add_questions() = MakeQuestion(evidence, question, one.files());
  }
  std::vector<v1::NodeTask> tasks;
  for (auto& [task, follow_up] : asked) tasks.push_back(std::move(follow_up));
  return tasks;
}

void TakeFileAnswers(const v1::AuditRun& run, const GatheringPorts& ports, Gathered& gathered) {
  for (const v1::NodeTask& task : run.tasks()) {
    if (task.questions().empty() || task.state() != v1::NODE_TASK_STATE_DONE) continue;
    v1::Bundle* const bundle = BundleAskedAbout(run, task, gathered);
    const auto stored = ports.stored_bundle(task);
    if (bundle == nullptr || !stored.ok()) continue;
    const auto answers = ports.load_bundle(*stored, gathered.budget, nullptr);
    if (!answers.ok()) continue;
    for (const v1::Evidence& answer : answers->evidence()) {
      int index = 0;
      if (!absl::SimpleAtoi(answer.subject(), &index) || index < 0 || index >= bundle->evidence_size()) continue;
      if (!bundle->evidence(index).has_files()) continue;  // nobody was asked about it
      v1::FileList& list = *bundle->mutable_evidence(index)->mutable_files();
      gathered.lists.shared->Part(list);
      MergeAnswer(answer.files(), list);
    }
  }
}

}  // namespace paritect
