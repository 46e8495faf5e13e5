// -o json: the whole report, one object.
#include <nlohmann/json.hpp>

#include "client/report/json.h"
#include "client/report/renderer.h"

namespace paritect {
namespace {

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  OrderedJson json = ReportToJson(report, options.companion);
  if (!options.inputs.empty()) json["inputs"] = OrderedJson::parse(options.inputs, nullptr, false);
  out << DumpJson(json) << "\n";
}

}  // namespace

extern const Renderer kJsonRenderer;
const Renderer kJsonRenderer = {"json", &Render};

}  // namespace paritect
