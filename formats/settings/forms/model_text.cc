// A printed model and optimizer (`kind: model`), one layer a line:
//   PyTorch   BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True)     Dropout(p=0.1, inplace=False)
//   MindSpore BatchNorm2d<num_features=64, eps=1e-05, momentum=0.9, ...>  Dropout<keep_prob=0.9>
//   Keras     BatchNormalization {"momentum": 0.99, "epsilon": 0.001}   Dropout {"rate": 0.1}
//   optimizer "SGD (", "    momentum: 0.9"   "Momentum: learning_rate=0.1 momentum=0.9"   SGD {"momentum": 0.9}
// Keys: "batchnorm.momentum", "dropout.p", "optimizer.momentum", ...; the layer's place is the scope.
// "framework: NAME VERSION" tells where the print comes from.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/document.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

// "batchnorm" for BatchNorm2d, BatchNormalization, SyncBatchNorm...; "" for a class that is of no interest.
std::string LayerClass(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  if (absl::StrContains(lower, "batchnorm")) return "batchnorm";
  if (absl::StrContains(lower, "layernorm") || absl::StrContains(lower, "rmsnorm")) return "layernorm";
  if (absl::StrContains(lower, "groupnorm") || absl::StrContains(lower, "groupnormalization")) return "groupnorm";
  if (absl::StartsWith(lower, "instancenorm")) return "instancenorm";
  if (lower == "conv1d" || lower == "conv2d" || lower == "conv3d") return "conv";
  if (lower == "linear" || lower == "dense") return "dense";
  if (lower == "gelu" || lower == "leakyrelu" || lower == "embedding") return lower;
  if (absl::StartsWith(lower, "dropout") || absl::EndsWith(lower, "dropout")) return "dropout";
  for (absl::string_view optimizer :
       {"sgd", "momentum", "adam", "adamw", "adamweightdecay", "lars", "lamb", "rmsprop", "fusedadam", "adagrad"}) {
    if (lower == optimizer) return "optimizer";
  }
  return "";
}

std::string ArgumentName(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(absl::StripAsciiWhitespace(name));
  return lower == "epsilon" ? "eps" : lower;
}

// "learning_rate=0.1 momentum=0.9": what an optimizer prints behind a colon. "momentum: 0.9" of a configuration is
// none.
bool AreArguments(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::ByAnyChar(" ,"), absl::SkipEmpty());
  return !words.empty() && words[0].find('=') != absl::string_view::npos && words[0].front() != '=';
}

// "(bn1): BatchNorm2d(" -> name "bn1", class "BatchNorm2d", at its bracket.
bool SplitLayer(absl::string_view line, absl::string_view& name, absl::string_view& layer, std::size_t& open) {
  std::size_t from = 0;
  absl::string_view stripped = absl::StripLeadingAsciiWhitespace(line);
  if (absl::StartsWith(stripped, "(")) {
    const std::size_t close = line.find("):");
    if (close == absl::string_view::npos) return false;
    name = stripped.substr(1, stripped.find("):") - 1);
    from = close + 2;
  }
  while (from < line.size() && line[from] == ' ') ++from;
  std::size_t end = from;
  while (end < line.size() && (absl::ascii_isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
  layer = line.substr(from, end - from);
  while (end < line.size() && line[end] == ' ') ++end;
  open = end;
  if (layer.empty() || open >= line.size()) return false;
  if (line[open] == ':') return LayerClass(layer) == "optimizer" && AreArguments(line.substr(open + 1));
  return absl::StrContains("(<{", line[open]);
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_("model", "model", label) {}

  void Line(absl::string_view line, std::int64_t number) {
    if (absl::StartsWith(line, "framework:")) return Framework(line.substr(10), number);
    if (in_optimizer_) {
      absl::string_view stripped = absl::StripAsciiWhitespace(line);
      if (stripped == ")") {
        in_optimizer_ = false;
      } else if (absl::StartsWith(stripped, "Parameter Group")) {
        scope_ = StrCat("optimizer ", absl::AsciiStrToLower(stripped.substr(10)));
      } else if (auto colon = stripped.find(": "); colon != absl::string_view::npos) {
        Add("optimizer", stripped.substr(0, colon), stripped.substr(colon + 2), number);
      }
      return;
    }
    absl::string_view name, layer;
    std::size_t open = 0;
    if (!SplitLayer(line, name, layer, open)) return;
    const std::string kind = LayerClass(layer);
    if (kind.empty()) return;
    ++layers_;
    scope_ = name.empty() ? StrCat(layer, " ", layers_) : std::string(name);
    if (v1::Setting* own = builder_.AddText(StrCat(kind, ".class"), layer, number)) own->set_scope(scope_);
    Body(kind, line.substr(open), number);
  }

  v1::SettingsDocument Finish() { return builder_.Finish(); }

 private:
  void Framework(absl::string_view text, std::int64_t number) {
    const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
    if (words.empty()) return;
    builder_.AddText("framework", words[0], number);
    if (words.size() < 2) return;
    const absl::string_view package = words[0] == "pytorch" ? "torch" : words[0];
    builder_.AddText(StrCat("package.", package), words[1], number);
  }

  void Body(const std::string& kind, absl::string_view body, std::int64_t number) {
    if (body[0] == '{') {
      auto root = ParseJson(body);
      if (!root.ok() || !root->is_map()) return;
      for (const auto& [key, value] : root->fields) {
        if (value.is_scalar()) Add(kind, key.text, value.text, number);
      }
      return;
    }
    if (body[0] == ':') {  // "Momentum: learning_rate=0.1 momentum=0.9"
      for (absl::string_view word : absl::StrSplit(body.substr(1), absl::ByAnyChar(" ,"), absl::SkipEmpty()))
        Pair(kind, word, number);
      return;
    }
    if (kind == "optimizer" && ClosingBracket(body, 0) == absl::string_view::npos && body[0] == '(') {
      in_optimizer_ = true;
      return;
    }
    const char close = body[0] == '<' ? '>' : ')';
    const std::size_t end = body.rfind(close);
    for (absl::string_view part :
         SplitOutsideBrackets(body.substr(1, end == absl::string_view::npos ? end : end - 1), ',')) {
      Pair(kind, part, number);
    }
  }

  void Pair(const std::string& kind, absl::string_view part, std::int64_t number) {
    const std::size_t equals = part.find('=');
    if (equals != absl::string_view::npos) Add(kind, part.substr(0, equals), part.substr(equals + 1), number);
  }

  void Add(const std::string& kind, absl::string_view key, absl::string_view value, std::int64_t number) {
    v1::Setting* setting =
        builder_.Add(StrCat(kind, ".", ArgumentName(key)), absl::StripAsciiWhitespace(value), number);
    if (setting != nullptr) setting->set_scope(scope_);
  }

  SettingsBuilder builder_;
  bool in_optimizer_ = false;
  int layers_ = 0;
  std::string scope_;
};

int Sniff(absl::string_view head) {
  int layers = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    absl::string_view name, layer;
    std::size_t open = 0;
    if (SplitLayer(line, name, layer, open) && !LayerClass(layer).empty()) ++layers;
  });
  return layers >= 2 ? 50 : 0;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) { reader.Line(line, number); });
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kModelSettings;
const SettingsFormat kModelSettings = {"model", "model", &Sniff, &Parse};

}  // namespace paritect
