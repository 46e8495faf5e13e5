// -o jsonl: one object a line, for tools that read streams: the report, then of each item the item, its checks,
// and of each check its findings and missing pieces. `record` says which. Both languages, as in json.
#include <nlohmann/json.hpp>

#include "client/report/json.h"
#include "client/report/renderer.h"

namespace paritect {
namespace {

// Moves `key` out of `json`: it becomes lines of its own.
OrderedJson Take(OrderedJson& json, const char* key) {
  OrderedJson taken = std::move(json[key]);
  json.erase(key);
  return taken;
}

void Line(std::ostream& out, const char* record, const OrderedJson& ids, const OrderedJson& body) {
  OrderedJson line = {{"record", record}};
  line.update(ids);
  line.update(body);
  out << DumpJson(line, -1) << "\n";
}

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  OrderedJson json = ReportToJson(report, options.companion);
  const OrderedJson items = Take(json, "items");
  json["schema"] = "paritect.report-lines/1";
  if (!options.inputs.empty()) json["inputs"] = OrderedJson::parse(options.inputs, nullptr, false);
  Line(out, "report", OrderedJson::object(), json);
  for (OrderedJson item : items) {
    const OrderedJson checks = Take(item, "checks");
    const OrderedJson item_id = item["id"];
    Line(out, "item", OrderedJson::object(), item);
    for (OrderedJson check : checks) {
      const OrderedJson findings = Take(check, "findings");
      const OrderedJson missing = Take(check, "missing");
      Line(out, "check", {{"item", item_id}}, check);
      const OrderedJson ids = {{"item", item_id}, {"check", check["id"]}};
      for (const OrderedJson& finding : findings) Line(out, "finding", ids, finding);
      for (const OrderedJson& one : missing) Line(out, "missing", ids, one);
    }
  }
}

}  // namespace

extern const Renderer kJsonLinesRenderer;
const Renderer kJsonLinesRenderer = {"jsonl", &Render};

}  // namespace paritect
