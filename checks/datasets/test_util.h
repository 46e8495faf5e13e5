// What the tests of the data.dataset checks share: one side's file list, a check's result in words.
#ifndef PARITECT_CHECKS_DATASETS_TEST_UTIL_H_
#define PARITECT_CHECKS_DATASETS_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checks/runner.h"
#include "common/digest.h"

namespace paritect::dataset_test {

class OneSide {
 public:
  explicit OneSide(absl::string_view node, absl::string_view format = "tree") {
    bundle_.mutable_plan()->set_run("run");
    bundle_.mutable_plan()->set_node(std::string(node));
    bundle_.mutable_plan()->set_role(v1::ROLE_RUN);
    v1::Evidence& evidence = *bundle_.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source("data");
    evidence.mutable_files()->set_dataset("train");
    evidence.mutable_files()->set_format(std::string(format));
  }
  // In byte order, as a collector gives them.
  OneSide& File(absl::string_view path, absl::string_view content) {
    v1::FileEntry& file = *list().add_files();
    file.set_path(std::string(path));
    file.set_type(v1::FILE_TYPE_REGULAR);
    file.set_size_bytes(content.size());
    file.set_md5(Md5(content));
    return *this;
  }
  v1::FileEntry& last() { return *list().mutable_files(list().files_size() - 1); }
  v1::FileList& list() { return *bundle_.mutable_evidence(0)->mutable_files(); }
  v1::Bundle bundle() const { return bundle_; }

 private:
  v1::Bundle bundle_;
};

inline v1::CheckResult Judge(absl::string_view id, std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  const v1::Report report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), {.today = "2026-06-01"});
  for (const auto& item : report.items()) {
    for (const auto& check : item.checks()) {
      if (check.id() == absl::StrCat("data.dataset.", id)) return check;
    }
  }
  ADD_FAILURE() << "no check " << id;
  return {};
}

inline v1::CheckResult Judge(absl::string_view id, const OneSide& baseline, const OneSide& migrated) {
  return Judge(id, {baseline.bundle()}, {migrated.bundle()});
}

// "error kind subject", in order.
inline std::vector<std::string> Found(const v1::CheckResult& result) {
  static constexpr const char* kWords[] = {"?", "error", "warning", "note"};
  std::vector<std::string> out;
  for (const v1::Finding& f : result.findings())
    out.push_back(absl::StrCat(kWords[f.severity()], " ", f.kind(), " ", f.subject()));
  return out;
}

}  // namespace paritect::dataset_test

#endif  // PARITECT_CHECKS_DATASETS_TEST_UTIL_H_
