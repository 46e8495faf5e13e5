#include "server/audits/announcement.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace paritect {
namespace {

absl::string_view VerdictWord(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return "pass";
    case v1::VERDICT_FAIL: return "fail";
    case v1::VERDICT_NOT_PERFORMED: return "not_performed";
    default: return "";
  }
}

std::string Quoted(absl::string_view text) {
  using Json = nlohmann::json;
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::optional<std::string> Announcement(const v1::AuditRun& run) {
  if (run.number() > 1 && run.changed().empty() && run.silent_nodes().empty() && run.problem().empty()) {
    return std::nullopt;
  }
  std::vector<std::string> changed;
  for (const v1::ChangedVerdict& one : run.changed()) {
    changed.push_back(absl::StrCat("{\"check\":", Quoted(one.check()),
                                   ",\"before\":", Quoted(VerdictWord(one.before())),
                                   ",\"after\":", Quoted(VerdictWord(one.after())), "}"));
  }
  std::vector<std::string> silent;
  for (const std::string& node : run.silent_nodes()) silent.push_back(Quoted(node));
  return absl::StrCat("{\"event\":\"audit_done\",\"audit\":", Quoted(run.audit()), ",\"run\":", run.number(),
                      ",\"verdict\":", Quoted(VerdictWord(run.verdict())), ",\"problem\":", Quoted(run.problem()),
                      ",\"changed\":[", absl::StrJoin(changed, ","), "],\"silent_nodes\":[", absl::StrJoin(silent, ","),
                      "]}");
}

}  // namespace paritect
