#include "formats/observer/precision_part.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/observer/value_text.h"

namespace paritect {
namespace {

constexpr std::size_t kEntriesMax = 4096;

bool IsShort(absl::string_view dtype) {
  return dtype == "F16" || dtype == "BF16";
}

std::string TypeWord(absl::string_view dtype) {
  return dtype == "F16" ? "float16" : dtype == "BF16" ? "bfloat16" : "float32";
}

// As the framework itself names the state of a flag; "" where it is of no interest to settings.
std::string FlagKey(absl::string_view flag) {
  if (flag == "float32_matmul_precision") return std::string(flag);
  if (flag == "deterministic_algorithms") return "deterministic";
  if (flag == "cuda.matmul.fp32_precision" || absl::EndsWith(flag, "allow_tf32")) {
    return absl::StrCat("torch.backends.", flag);
  }
  if (absl::ConsumePrefix(&flag, "npu.option.")) return std::string(flag);
  return "";
}

}  // namespace

bool PrecisionPart::Take(const ObservedRecord& record) {
  const std::string kind = record.kind();
  if (kind == "flags") return TakeFlags(record), true;
  if (kind == "scaler") return TakeScaler(record), true;
  if (kind == "cast") return TakeCast(record), true;
  if (kind == "wrap") return TakeWrap(record), true;
  if (kind == "settings") return TakeSettings(record), true;
  if (kind == "autocast") {
    if (autocasts_.size() < kEntriesMax) {
      autocasts_.push_back({record.line(), record.Text("dtype"), record.Boolean("enabled").value_or(true)});
    }
    return true;
  }
  return kind == "compile";
}

void PrecisionPart::TakeFlags(const ObservedRecord& record) {
  const DocumentNode* flags = record.Find("flags");
  if (flags == nullptr) return;
  for (const auto& [name, value] : flags->fields) {
    if (flags_.size() < kEntriesMax || flags_.contains(name.text))
      flags_[name.text] = {ValueText(value), record.line()};
  }
}

void PrecisionPart::TakeScaler(const ObservedRecord& record) {
  // One that set itself up after its base class did is told again.
  const std::int64_t id = record.Integer("id").value_or(-1);
  const auto known = std::find_if(scalers_.begin(), scalers_.end(), [id](const Scaler& s) { return s.id == id; });
  const bool again = known != scalers_.end() && id >= 0;
  if (!again && scalers_.size() >= kEntriesMax) return;
  Scaler& scaler = again ? *known : scalers_.emplace_back();
  scaler = Scaler();
  scaler.id = id;
  scaler.line = record.line();
  scaler.enabled = record.Boolean("enabled").value_or(true);
  scaler.dynamic = record.Boolean("dynamic");
  // torch's own class has no other kind; it stands still only where its interval is beyond any training.
  const auto interval = record.Number("growth_interval");
  if (!scaler.dynamic && interval) scaler.dynamic = *interval < 1e9;
  for (const auto& [field, key] :
       {std::pair("init_scale", "loss_scale_init"), std::pair("growth_interval", "loss_scale_window"),
        std::pair("growth_factor", "loss_scale_growth_factor"),
        std::pair("backoff_factor", "loss_scale_backoff_factor")}) {
    if (const DocumentNode* value = record.Find(field)) scaler.settings.emplace_back(key, value->text);
  }
}

void PrecisionPart::TakeCast(const ObservedRecord& record) {
  if (casts_.size() >= kEntriesMax) return;
  casts_.push_back({record.line(), record.Integer("root").value_or(-1), record.Integer("trainable").value_or(0),
                    record.Integer("norms").value_or(0), record.Text("dtype"), ShortClass(record.Text("class")),
                    record.Text("where")});
}

void PrecisionPart::TakeWrap(const ObservedRecord& record) {
  if (wraps_.size() >= kEntriesMax) return;
  Wrap wrap = {record.line(), ShortClass(record.Text("class")), ""};
  if (const DocumentNode* arguments = record.Find("arguments")) {
    if (const DocumentNode* dtype = arguments->Find("mixed_precision.param_dtype")) wrap.dtype = dtype->text;
  }
  wraps_.push_back(std::move(wrap));
}

void PrecisionPart::TakeSettings(const ObservedRecord& record) {
  const DocumentNode* values = record.Find("values");
  if (values == nullptr) return;
  engine_line_ = record.line();
  for (const auto& [name, value] : values->fields) {
    if (engine_settings_.size() < kEntriesMax && value.is_scalar())
      engine_settings_.emplace_back(name.text, value.text);
  }
}

// What keeps and casts the weights itself: its casts are not the program's.
const PrecisionPart::Wrap* PrecisionPart::Engine() const {
  for (const Wrap& wrap : wraps_) {
    if (wrap.class_name == "DeepSpeedEngine" || !wrap.dtype.empty()) return &wrap;
  }
  return nullptr;
}

// A cast to a short type of what is trained. Frozen modules, norms alone, and the way back to fp32 are none.
const PrecisionPart::Cast* PrecisionPart::CastOf(const ModelPart& model) const {
  const ObservedRoot* root = model.Trained();
  if (root == nullptr || Engine() != nullptr) return nullptr;
  for (const Cast& cast : casts_) {
    if (!IsShort(cast.dtype) || cast.trainable - cast.norms <= 0) continue;
    const bool named = cast.class_name == root->class_name || cast.class_name == root->inner_class;
    const bool large = 10 * cast.trainable >= root->trainable;
    if (cast.root == model.TrainedId() || (cast.root < 0 && (named || large))) return &cast;
  }
  return nullptr;
}

bool PrecisionPart::has_engine() const {
  return !engine_settings_.empty() || std::any_of(wraps_.begin(), wraps_.end(), [](const Wrap& wrap) {
    return wrap.class_name != "DistributedDataParallel" && wrap.class_name != "DataParallel";
  });
}

void PrecisionPart::AddTypes(const ModelPart& model, const std::string& trained_type, bool whole,
                             SettingsBuilder& facts) const {
  const ObservedRoot* root = model.Trained();
  if (root == nullptr) return;
  const auto automatic = std::find_if(autocasts_.begin(), autocasts_.end(),
                                      [](const Autocast& one) { return one.enabled && IsShort(one.dtype); });
  std::map<std::string, std::uint64_t> elements;
  for (const auto& [name, parameter] : root->parameters) {
    if (parameter.trained) elements[parameter.dtype] += parameter.elements;
  }
  std::string weights;  // the type of most of what is trained, where that is known
  for (const auto& [dtype, count] : elements) {
    if (weights.empty() || count > elements[weights]) weights = dtype;
  }
  const Cast* cast = CastOf(model);
  // Short weights beside master copies in fp32 are the way of an engine or a library, with its own option.
  const bool masters = trained_type == "F32" && IsShort(weights);
  const bool by_hand = cast != nullptr && !masters && (weights.empty() || IsShort(weights));
  const Wrap* engine = Engine();
  if (automatic != autocasts_.end()) {
    facts.AddText("compute_dtype", TypeWord(automatic->dtype), automatic->line);
    facts.AddText("amp_wrapper", "amp", automatic->line);
  } else if (engine != nullptr && !engine->dtype.empty()) {
    facts.AddText("compute_dtype", TypeWord(engine->dtype), engine->line);
    facts.AddText("sharding_engine", "fsdp", engine->line);
  } else if (!has_engine() && !weights.empty() && whole) {
    facts.AddText("compute_dtype", TypeWord(weights), root->line);
    if (!masters) facts.AddText("amp_wrapper", "plain", root->line);  // no automatic mode
  }
  if (by_hand) {
    facts.Add("manual_casts", "true", cast->line);
    facts.AddText("observed.cast", absl::StrCat(cast->class_name, " to ", TypeWord(cast->dtype), " at ", cast->where),
                  cast->line);
  } else if (IsShort(weights) && !masters && !has_engine()) {
    // Made or loaded in the short type: with autocast around it that is a second mechanism all the same.
    facts.Add(automatic == autocasts_.end() && weights == "BF16" ? "pure_bf16" : "manual_casts", "true", root->line);
  }
  for (const auto& [dtype, count] : model.output_types()) {
    v1::Setting* one = facts.AddText("observed.outputs", absl::StrCat(count), root->line);
    if (one != nullptr) one->set_scope(dtype);
  }
}

// Without a scaler's object a program may still scale by hand, so that nothing is said.
void PrecisionPart::AddScaler(SettingsBuilder& facts) const {
  if (scalers_.empty()) return;
  const Scaler& scaler = scalers_.front();
  facts.Add("loss_scaler_enabled", scaler.enabled ? "true" : "false", scaler.line);
  if (!scaler.enabled) return;
  if (scaler.dynamic.has_value()) {
    facts.AddText("loss_scaler_type", *scaler.dynamic ? "dynamic" : "static", scaler.line);
  }
  for (const auto& [key, value] : scaler.settings) facts.Add(key, value, scaler.line);
}

void PrecisionPart::AddFlags(SettingsBuilder& facts) const {
  for (const auto& [name, flag] : flags_) {
    if (flag.first == "unreadable" || flag.first == "none") continue;
    if (const std::string key = FlagKey(name); !key.empty()) facts.Add(key, flag.first, flag.second);
    facts.AddText(absl::StrCat("observed.flag.", name), flag.first, flag.second);
  }
}

void PrecisionPart::AddFacts(const ModelPart& model, const std::string& trained_type, const Told& told,
                             SettingsBuilder& facts) const {
  if (told.types) AddTypes(model, trained_type, told.whole, facts);
  if (told.scaler) AddScaler(facts);
  AddFlags(facts);
  for (const Wrap& wrap : wraps_) facts.AddText("observed.wrap", wrap.class_name, wrap.line);
  for (const auto& [key, value] : engine_settings_) facts.Add(key, value, engine_line_);
}

}  // namespace paritect
