// The second round of an audit: which of the files that differ is cut off, which is only written with other line ends?
// Two file lists cannot tell; the nodes that hold the files can, for the few that differ. Asked once; without answers
// the report says less, never something else.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "checks/datasets/follow_up.h"
#include "server/audits/audits.h"

namespace paritect {

bool Audits::AskAboutFiles(const std::string& key, const EvidenceSet& evidence, const Gathered& gathered,
                           const v1::AuditRun& run) {
  std::map<int, v1::NodeTask> asked;  // by the index of the task that listed the files
  for (const DatasetQuestion& question : DatasetQuestions(evidence)) {
    const auto side = static_cast<std::size_t>(question.side == Side::kMigrated ? 1 : 0);
    const int task = gathered.task_of[side][static_cast<std::size_t>(question.bundle)];
    if (task < 0) continue;
    const v1::Evidence& one =
        evidence.bundles(question.side)[static_cast<std::size_t>(question.bundle)].evidence(question.evidence);
    v1::FileQuestion file;
    file.set_evidence(question.evidence);
    file.set_root(one.files().root());
    file.set_path(question.path);
    for (const std::string& law : question.laws) file.add_laws(law);
    const auto& files = one.files().files();  // sorted by path
    const auto entry =
        std::lower_bound(files.begin(), files.end(), question.path,
                         [](const v1::FileEntry& f, const std::string& path) { return f.path() < path; });
    if (entry != files.end() && entry->path() == question.path) file.set_size_bytes(entry->size_bytes());
    v1::NodeTask& follow_up = asked[task];
    if (follow_up.task_id().empty()) {
      const v1::NodeTask& first = run.tasks(task);
      follow_up.set_task_id(absl::StrCat(first.task_id(), ".files"));
      follow_up.set_node(first.node());
      follow_up.set_migrated(first.migrated());
      follow_up.set_plan(first.plan());
      follow_up.set_state(v1::NODE_TASK_STATE_WAITING);
    }
    *follow_up.add_questions() = std::move(file);
  }
  if (asked.empty()) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = active_.find(key);
  if (found == active_.end() || stopping_) return false;
  Active& active = found->second;
  active.run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
  active.run.set_followed_up(true);
  for (auto& [task, follow_up] : asked) {
    ports_.dispatch(follow_up.node(), MakeTask(active.run, follow_up));
    *active.run.add_tasks() = std::move(follow_up);
  }
  AfterChange(active);
  return true;
}

void Audits::TakeAnswers(const v1::AuditRun& run, const Gathered& gathered, EvidenceSet& evidence) {
  for (const v1::NodeTask& task : run.tasks()) {
    if (task.questions().empty() || task.state() != v1::NODE_TASK_STATE_DONE) continue;
    const Side side = task.migrated() ? Side::kMigrated : Side::kBaseline;
    v1::Bundle* bundle = nullptr;
    for (std::size_t i = 0; i < evidence.bundles(side).size(); ++i) {
      const int first = gathered.task_of[task.migrated() ? 1 : 0][i];
      if (first < 0 || absl::StrCat(run.tasks(first).task_id(), ".files") != task.task_id()) continue;
      if (run.tasks(first).node() == task.node()) bundle = &evidence.mutable_bundles(side)[i];
    }
    const auto stored = ports_.stored_bundle(task);
    if (bundle == nullptr || !stored.ok()) continue;
    const auto answers = ports_.load_bundle(*stored);
    if (!answers.ok()) continue;
    for (const v1::Evidence& answer : answers->evidence()) {
      int index = 0;
      if (!absl::SimpleAtoi(answer.subject(), &index) || index < 0 || index >= bundle->evidence_size()) continue;
      std::map<absl::string_view, const v1::FileEntry*> files;
      for (const v1::FileEntry& file : answer.files().files()) files[file.path()] = &file;
      for (v1::FileEntry& file : *bundle->mutable_evidence(index)->mutable_files()->mutable_files()) {
        const auto known = files.find(file.path());
        if (known == files.end()) continue;
        file.mutable_alternates()->MergeFrom(known->second->alternates());
        if (!known->second->has_record_look()) continue;
        *file.mutable_record_look() = known->second->record_look();
        if (known->second->has_records()) file.set_records(known->second->records());
      }
    }
  }
}

}  // namespace paritect
