#include "client/report/exit.h"

namespace paritect {

ExitCode CodeOfReport(const v1::Report& report, bool complete) {
  if (report.verdict() == v1::VERDICT_FAIL) return kExitFailed;
  if (!complete) return kExitOk;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.required() && check.verdict() == v1::VERDICT_NOT_PERFORMED) return kExitNotPerformed;
    }
  }
  return kExitOk;
}

}  // namespace paritect
