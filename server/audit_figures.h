// What monitors want to know of each audit: how its newest judged run ended.
#ifndef PARITECT_SERVER_AUDIT_FIGURES_H_
#define PARITECT_SERVER_AUDIT_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

struct AuditFigure {
  std::string audit;
  v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;
  std::int64_t ended_unix_ms = 0;
  std::int64_t failed_checks = 0;
  std::int64_t open_checks = 0;  // not performed though required
  std::int64_t silent_nodes = 0;
};

AuditFigure FigureOf(const v1::AuditRun& run, const v1::Report& report);

// Thread-safe.
class AuditFigures {
 public:
  // `counted`: the run ended since the server's start.
  void Put(AuditFigure figure, bool counted);
  // Those that are not named are gone.
  void KeepOnly(const std::vector<std::string>& audits);
  std::vector<AuditFigure> All() const;                      // by name
  std::map<v1::Verdict, std::int64_t> RunsByVerdict() const;  // since the server's start

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, AuditFigure> figures_;
  std::map<v1::Verdict, std::int64_t> runs_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDIT_FIGURES_H_
