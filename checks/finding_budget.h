// Keeps a check over millions of files from writing millions of findings: after `findings_max` errors and
// warnings it only counts. The count stays true (CheckResult.findings_total), and one last error that names
// no subject says that there are more, so that waivers of single subjects can never clear what was not shown.
#ifndef PARITECT_CHECKS_FINDING_BUDGET_H_
#define PARITECT_CHECKS_FINDING_BUDGET_H_

#include "checks/check.h"

namespace paritect {

class FindingBudget {
 public:
  FindingBudget(const CheckContext& context, v1::CheckResult& result, int findings_max = 5000)
      : context_(context), result_(result), findings_max_(findings_max) {}

  // The new finding, or nullptr when it was only counted.
  v1::Finding* Add(v1::Severity severity, absl::string_view message_id, absl::string_view subject,
                   const MessageArgs& args) {
    if (shown_ >= findings_max_) {
      ++hidden_;
      hidden_error_ = hidden_error_ || severity == v1::SEVERITY_ERROR;
      return nullptr;
    }
    ++shown_;
    return &AddFinding(context_, result_, severity, message_id, subject, args);
  }

  // Once, at the end.
  void Finish() {
    if (hidden_ == 0) return;
    AddFinding(context_, result_, hidden_error_ ? v1::SEVERITY_ERROR : v1::SEVERITY_NOTE, "more_findings", "",
               {{"count", std::to_string(hidden_)}});
    result_.set_findings_total(result_.findings_size() - 1 + hidden_);
  }

 private:
  const CheckContext& context_;
  v1::CheckResult& result_;
  const int findings_max_;
  int shown_ = 0;
  std::int64_t hidden_ = 0;
  bool hidden_error_ = false;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_FINDING_BUDGET_H_
