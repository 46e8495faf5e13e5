// What the first recorded optimizer step did to each layer, side by side.
#include "checks/pictures/pictures.h"
#include "checks/weights/step_change.h"
#include "common/utf8.h"

namespace paritect {
namespace {

const char* MovementWord(Movement movement) {
  switch (movement) {
    case Movement::kMoved: return "moved";
    case Movement::kStill: return "still";
    default: return "unknown";
  }
}

void Fill(const StepChange& change, const PictureBounds& bounds, v1::UpdatePicture& out) {
  out.set_from_step(change.from);
  out.set_to_step(change.to);
  for (const ModelTensor& tensor : change.after.tensors) {
    if (tensor.role != v1::TENSOR_ROLE_PARAMETER) continue;
    out.set_layers_total(out.layers_total() + 1);
    if (static_cast<std::size_t>(out.layers_size()) == bounds.layers_max) continue;
    v1::UpdatePicture::Layer& layer = *out.add_layers();
    layer.set_name(DisplayBytes(tensor.name));
    layer.set_movement(MovementWord(MovementOf(change, tensor)));
    layer.set_elements(static_cast<std::int64_t>(tensor.elements()));
    if (const auto size = UpdateSize(change, tensor); size.has_value()) layer.set_rms(*size);
  }
}

}  // namespace

void AddUpdatePictures(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out) {
  for (const Side side : kBothSides) {
    for (const RunCheckpoints& run : CheckpointsOf(context, side)) {
      v1::CheckResult unused;  // why there is none: the checks tell
      const auto change = FirstChange(context, unused, run);
      if (!change.has_value()) continue;
      v1::UpdatePicture& picture = *out.add_updates();
      picture.set_side(std::string(SideName(side)));
      picture.set_run(DisplayBytes(run.run.name));
      Fill(*change, bounds, picture);
    }
  }
}

}  // namespace paritect
