#include "client/remote/words.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "client/localise.h"
#include "common/duration.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {

absl::string_view NodeTaskWord(v1::NodeTaskState state) {
  switch (state) {
    case v1::NODE_TASK_STATE_RUNNING: return "running";
    case v1::NODE_TASK_STATE_DONE: return "done";
    case v1::NODE_TASK_STATE_SILENT: return "silent";
    case v1::NODE_TASK_STATE_REFUSED: return "refused";
    case v1::NODE_TASK_STATE_CANCELLED: return "cancelled";
    default: return "waiting";
  }
}

absl::string_view AuditRunWord(v1::AuditRunState state) {
  switch (state) {
    case v1::AUDIT_RUN_STATE_CHECKING: return "checking";
    case v1::AUDIT_RUN_STATE_DONE: return "done";
    case v1::AUDIT_RUN_STATE_FAILED: return "failed";
    case v1::AUDIT_RUN_STATE_CANCELLED: return "cancelled";
    default: return "collecting";
  }
}

absl::string_view AccessRoleWord(v1::AccessRole role) {
  switch (role) {
    case v1::ACCESS_ROLE_AGENT: return "agent";
    case v1::ACCESS_ROLE_VIEWER: return "viewer";
    case v1::ACCESS_ROLE_OPERATOR: return "operator";
    case v1::ACCESS_ROLE_ADMIN: return "admin";
    default: return "unknown";
  }
}

bool IsEnded(const v1::AuditRun& run) {
  return run.state() == v1::AUDIT_RUN_STATE_DONE || run.state() == v1::AUDIT_RUN_STATE_FAILED ||
         run.state() == v1::AUDIT_RUN_STATE_CANCELLED;
}

std::string TimeWord(std::int64_t unix_ms, absl::string_view never) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts = {};
  char text[32];
  if (unix_ms <= 0 || gmtime_r(&seconds, &parts) == nullptr) return std::string(never);
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

std::string AgoWord(std::int64_t unix_ms, std::int64_t now_unix_ms, absl::string_view never) {
  if (unix_ms <= 0) return std::string(never);
  const std::int64_t seconds = (now_unix_ms - unix_ms) / 1000;
  if (seconds == 0) return "now";
  return seconds > 0 ? absl::StrCat(FormatDuration(seconds), " ago") : absl::StrCat("in ", FormatDuration(-seconds));
}

OrderedJson TimeJson(std::int64_t unix_ms) {
  std::string text = TimeWord(unix_ms, "");
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(std::move(text));
}

std::string BytesWord(std::int64_t bytes) {
  if (bytes < 1000) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  static constexpr absl::string_view kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (value /= 1000; value >= 999.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string VerdictOrDash(v1::Verdict verdict) {
  return verdict == v1::VERDICT_UNSPECIFIED ? "-" : VerdictWord(verdict);
}

void TextTable::Print(std::ostream& out, Language language) const {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::string>> safe;
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string>& cells = safe.emplace_back();
    for (const std::string& cell : row) {
      cells.push_back(TerminalSafe(&row == &rows_[0] ? Localised(language, cell) : cell));
      if (widths.size() < cells.size()) widths.push_back(0);
      widths[cells.size() - 1] = std::max(widths[cells.size() - 1], DisplayWidth(cells.back()));
    }
  }
  for (const std::vector<std::string>& row : safe) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << (i + 1 == row.size() ? row[i] : absl::StrCat(Pad(row[i], widths[i]), "  "));
    }
    out << "\n";
  }
}

}  // namespace paritect
