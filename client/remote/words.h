// What listings and progress say of the fleet: states, times, sizes, tables.
#ifndef PARITECT_CLIENT_REMOTE_WORDS_H_
#define PARITECT_CLIENT_REMOTE_WORDS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/report/json.h"
#include "paritect/v1/fleet.pb.h"
#include "report/language.h"

namespace paritect {

absl::string_view NodeTaskWord(v1::NodeTaskState state);  // "waiting", "running", ...
absl::string_view AuditRunWord(v1::AuditRunState state);  // "collecting", "checking", ...
absl::string_view AccessRoleWord(v1::AccessRole role);    // "agent", ...
bool IsEnded(const v1::AuditRun& run);

// "2026-11-29T18:24:50Z"; of 0 or less ("never") JSON null, for tables "never" or what is given.
OrderedJson TimeJson(std::int64_t unix_ms);
std::string TimeWord(std::int64_t unix_ms, absl::string_view never = "never");

// From now on: "3s ago", "in 29d6h", "now"; of 0 or less as TimeWord.
std::string AgoWord(std::int64_t unix_ms, std::int64_t now_unix_ms, absl::string_view never = "never");

// "1.5 GB", decimal units as disks and networks are sold.
std::string BytesWord(std::int64_t bytes);

// A verdict's word; "-" before there is one.
std::string VerdictOrDash(v1::Verdict verdict);

// Columns as wide as their widest cell, two blanks between them; cells are made safe. The first row is the heading.
class TextTable {
 public:
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() <= 1; }
  // The heading in that language; what stands below it is what the server said.
  void Print(std::ostream& out, Language language) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_WORDS_H_
