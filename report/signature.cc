#include "report/signature.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "common/pki/report_key.h"
#include "common/utf8.h"

namespace paritect {
namespace {

std::string Base64At(const OrderedJson& signature, const char* name) {
  std::string raw;
  const auto found = signature.find(name);
  if (found == signature.end() || !found->is_string()) return "";
  return absl::Base64Unescape(found->get<std::string>(), &raw) ? raw : "";
}

}  // namespace

std::string CanonicalJson(const OrderedJson& report) {
  // nlohmann's plain object keeps its names sorted.
  nlohmann::json sorted = nlohmann::json::parse(DumpJson(report, -1), nullptr, false);
  if (sorted.is_object()) sorted.erase("signature");
  return JsonEscapes(sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

absl::StatusOr<std::string> SigningKeyOf(const OrderedJson& report) {
  const auto signature = report.is_object() ? report.find("signature") : report.end();
  if (signature == report.end()) return absl::NotFoundError("the report is not signed");
  if (!signature->is_object()) return absl::DataLossError("`signature` is no object");
  std::string key = Base64At(*signature, "public_key");
  if (!IsReportSignature(key, CanonicalJson(report), Base64At(*signature, "value"))) {
    return absl::DataLossError("its signature does not hold: it was changed after it was signed");
  }
  return key;
}

}  // namespace paritect
