#include "client/report/renderer.h"

namespace paritect {

#define PARITECT_RENDERER(name) extern const Renderer k##name##Renderer;
#include "client/all_renderers.inc"
#undef PARITECT_RENDERER

absl::Span<const Renderer* const> AllRenderers() {
  static constexpr const Renderer* kAll[] = {
#define PARITECT_RENDERER(name) &k##name##Renderer,
#include "client/all_renderers.inc"
#undef PARITECT_RENDERER
  };
  return kAll;
}

const Renderer* FindRenderer(absl::string_view name) {
  for (const Renderer* renderer : AllRenderers()) {
    if (renderer->name == name) return renderer;
  }
  return nullptr;
}

}  // namespace paritect
