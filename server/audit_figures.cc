#include "server/audit_figures.h"

#include <algorithm>

namespace paritect {

AuditFigure FigureOf(const v1::AuditRun& run, const v1::Report& report) {
  AuditFigure figure;
  figure.audit = run.audit();
  figure.verdict = run.verdict();
  figure.ended_unix_ms = run.ended_unix_ms();
  figure.silent_nodes = run.silent_nodes_size();
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.verdict() == v1::VERDICT_FAIL) ++figure.failed_checks;
      if (check.verdict() == v1::VERDICT_NOT_PERFORMED && check.required()) ++figure.open_checks;
    }
  }
  return figure;
}

void AuditFigures::Put(AuditFigure figure, bool counted) {
  absl::MutexLock lock(&mutex_);
  if (counted) ++runs_[figure.verdict];
  std::string audit = figure.audit;
  figures_[std::move(audit)] = std::move(figure);
}

void AuditFigures::KeepOnly(const std::vector<std::string>& audits) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(figures_, [&audits](const auto& one) {
    return std::find(audits.begin(), audits.end(), one.first) == audits.end();
  });
}

std::vector<AuditFigure> AuditFigures::All() const {
  absl::MutexLock lock(&mutex_);
  std::vector<AuditFigure> out;
  for (const auto& [audit, figure] : figures_) out.push_back(figure);
  return out;
}

std::map<v1::Verdict, std::int64_t> AuditFigures::RunsByVerdict() const {
  absl::MutexLock lock(&mutex_);
  return runs_;
}

}  // namespace paritect
