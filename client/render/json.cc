// -o json: the whole report, one object.
#include "client/report/json.h"
#include "client/report/renderer.h"

namespace paritect {
namespace {

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  out << DumpJson(ReportToJson(report, options.companion)) << "\n";
}

}  // namespace

extern const Renderer kJsonRenderer;
const Renderer kJsonRenderer = {"json", &Render};

}  // namespace paritect
