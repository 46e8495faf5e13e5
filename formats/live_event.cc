#include "formats/live_event.h"

#include <nlohmann/json.hpp>

#include "absl/time/time.h"

namespace paritect {
namespace {

nlohmann::ordered_json FactJson(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kNumberValue: return value.number_value();
    case google::protobuf::Value::kBoolValue: return value.bool_value();
    case google::protobuf::Value::kStringValue: return value.string_value();
    default: return nullptr;
  }
}

}  // namespace

std::string LiveEventJson(const v1::LiveEvent& event) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["event"] = event.event();
  json["at"] = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(event.at_unix_ms()), absl::UTCTimeZone());
  json["audit"] = event.audit();
  json["run"] = event.run();
  json["number"] = event.number();
  json["training_run"] = event.training_run();
  json["node"] = event.node().empty() ? Json(nullptr) : Json(event.node());
  if (!event.has_finding()) {
    json["detail"] = event.detail();
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const v1::Finding& finding = event.finding();
  json["kind"] = finding.kind();
  json["subject"] = finding.subject();
  json["step"] = event.has_step() ? Json(event.step()) : Json(nullptr);
  json["message"] = {{"en", finding.message().en()}, {"zh", finding.message().zh()}};
  json["baseline"] = finding.baseline();
  json["migrated"] = finding.migrated();
  json["facts"] = Json::object();
  for (const auto& [name, value] : finding.facts().fields()) json["facts"][name] = FactJson(value);
  json["remedy"] = {{"en", finding.remedy().en()}, {"zh", finding.remedy().zh()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace paritect
