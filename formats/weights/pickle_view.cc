#include "formats/weights/pickle_view.h"

#include <algorithm>

#include "absl/base/macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/pickle_names.h"

namespace paritect {
namespace {

using Kind = PickleValue::Kind;

// getattr(Class, "MEMBER"): how Python 3.11 writes a member of an enumeration.
bool IsEnumMember(const PickleView& view, std::int32_t place) {
  const auto arguments = view.ArgumentsOf(place);
  return view.NameOf(place) == "builtins.getattr" && arguments.size() == 2 &&
         view.at(arguments[0]).kind == Kind::kGlobal && IsClassName(view.NameOf(arguments[0])) &&
         view.at(arguments[1]).kind == Kind::kText && !absl::StartsWith(view.at(arguments[1]).text, "__");
}

absl::Status Hostile(absl::string_view name, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the pickle ", what, " ", DisplayBytes(name),
                                          ": loading this file would run it. Take the weights from a source that you "
                                          "trust, or save them as safetensors"));
}

// "torch.distributed" with "os.system": what a module has imported, in the place of a class with what is in it.
bool ReachesThroughModule(absl::string_view text) {
  const absl::string_view name = text.substr(text.find(' ') + 1);
  const std::size_t dot = name.find('.');
  return dot != absl::string_view::npos && !IsClassName(name.substr(0, dot));
}

absl::Status CheckCall(const PickleView& view, std::int32_t place) {
  const PickleValue& object = view.at(place);
  const std::int32_t callable = object.items.empty() ? place : object.items[0];
  if (view.at(callable).kind == Kind::kPersistent) return absl::OkStatus();  // the legacy layout's classes of modules
  if (view.at(callable).kind != Kind::kGlobal) return Hostile("of another call", "calls the result");
  const std::string name = view.NameOf(callable);
  if (object.boolean || IsEnumMember(view, place)) return absl::OkStatus();
  if (!MayBeCalled(name) || ReachesThroughModule(view.at(callable).text)) return Hostile(name, "calls");
  return absl::OkStatus();
}

// A storage that pickle.dump wrote: torch.load is called of its bytes, a file of the legacy layout.
constexpr absl::string_view kStorageOfBytes = "torch.storage._load_from_bytes";
constexpr int kLegacyPickles = 5;  // behind them stand the values
constexpr int kNestedMax = 4;

absl::Status CheckNames(const PickleView& view, int nested);

absl::Status CheckStorageOfBytes(const PickleView& view, std::int32_t place, int nested) {
  const auto arguments = view.ArgumentsOf(place);
  const auto bytes = arguments.size() == 1 ? view.BytesOf(arguments[0]) : std::nullopt;
  if (!bytes.has_value() || nested == kNestedMax) return Hostile(kStorageOfBytes, "calls");
  absl::string_view rest = *bytes;
  for (int i = 0; i < kLegacyPickles; ++i) {
    const auto pickle = ReadPickle(rest, kCheckpointPickleLimits);
    if (!pickle.ok()) return Annotate(pickle.status(), "a storage in the pickle");
    PARITECT_RETURN_IF_ERROR(CheckNames(PickleView(*pickle), nested + 1));
    rest.remove_prefix(pickle->bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const PickleView& view, int nested) {
  const auto count = static_cast<std::int32_t>(view.pickle().values.size());
  for (std::int32_t place = 0; place < count; ++place) {
    const PickleValue& value = view.at(place);
    if (value.kind == Kind::kGlobal && IsActingName(view.NameOf(place))) return Hostile(view.NameOf(place), "names");
    if (value.kind != Kind::kObject) continue;
    PARITECT_RETURN_IF_ERROR(CheckCall(view, place));
    if (view.NameOf(place) == kStorageOfBytes) PARITECT_RETURN_IF_ERROR(CheckStorageOfBytes(view, place, nested));
  }
  return absl::OkStatus();
}

// Attributes of a module; the bound keeps many objects with one large state from costing their product.
constexpr std::size_t kModuleItemsMax = 2 * 512;

bool IsModule(const PickleView& view, std::int32_t place) {
  const auto state = view.StateOf(place);
  if (!state || view.at(*state).kind != Kind::kDict || view.at(*state).items.size() > kModuleItemsMax) return false;
  return view.Find(*state, "_parameters") && view.Find(*state, "_modules");
}

}  // namespace

std::string PickleView::NameOf(std::int32_t place) const {
  const PickleValue* value = &at(place);
  if (value->kind == Kind::kObject && !value->items.empty()) value = &at(value->items[0]);
  if (value->kind != Kind::kGlobal) return "";
  std::string name = absl::StrReplaceAll(value->text, {{" ", "."}});
  // Python 2's names, and numpy's since version 2.
  if (absl::StartsWith(name, "__builtin__.")) name.replace(0, 11, "builtins");
  if (absl::StartsWith(name, "copy_reg.")) name.replace(0, 8, "copyreg");
  if (absl::StartsWith(name, "numpy._core.")) name.replace(0, 11, "numpy.core");
  return name;
}

absl::Span<const std::int32_t> PickleView::ArgumentsOf(std::int32_t place) const {
  const PickleValue& value = at(place);
  if (value.kind != Kind::kObject || value.items.size() < 2 || at(value.items[1]).kind != Kind::kList) return {};
  return at(value.items[1]).items;
}

std::optional<std::int32_t> PickleView::StateOf(std::int32_t place) const {
  const PickleValue& value = at(place);
  if (value.kind != Kind::kObject || value.items.size() != 3) return std::nullopt;
  return value.items[2];
}

std::vector<std::int32_t> PickleView::PairsOf(std::int32_t place) const {
  const PickleValue& value = at(place);
  if (value.kind == Kind::kDict) return value.items;
  if (value.kind != Kind::kObject) return {};
  if (value.held_pairs) return value.held;
  // Python 2: OrderedDict([[key, value], ...])
  std::vector<std::int32_t> pairs;
  const auto arguments = ArgumentsOf(place);
  if (NameOf(place) != "collections.OrderedDict" || arguments.size() != 1) return pairs;
  for (const std::int32_t item : ItemsOf(arguments[0])) {
    const std::vector<std::int32_t> pair = ItemsOf(item);
    if (pair.size() == 2) pairs.insert(pairs.end(), pair.begin(), pair.end());
  }
  return pairs;
}

std::vector<std::int32_t> PickleView::ItemsOf(std::int32_t place) const {
  const PickleValue& value = at(place);
  if (value.kind == Kind::kList) return value.items;
  if (value.kind != Kind::kObject) return {};
  if (!value.held.empty()) return value.held_pairs ? std::vector<std::int32_t>() : value.held;
  const std::string name = NameOf(place);
  const auto arguments = ArgumentsOf(place);
  const bool wraps = name == "torch.Size" || name == "builtins.set" || name == "builtins.frozenset" ||
                     name == "builtins.list" || name == "builtins.tuple" || name == "collections.deque";
  return wraps && !arguments.empty() && at(arguments[0]).kind == Kind::kList ? at(arguments[0]).items
                                                                             : std::vector<std::int32_t>();
}

std::optional<std::int32_t> PickleView::Find(std::int32_t place, absl::string_view key) const {
  const PickleValue& value = at(place);
  const std::vector<std::int32_t> made = value.kind == Kind::kDict ? std::vector<std::int32_t>() : PairsOf(place);
  const std::vector<std::int32_t>& pairs = value.kind == Kind::kDict ? value.items : made;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const PickleValue& name = at(pairs[i]);
    if (name.kind == Kind::kText && name.text == key) return pairs[i + 1];
  }
  return std::nullopt;
}

std::optional<std::string> PickleView::BytesOf(std::int32_t place) const {
  const PickleValue& value = at(place);
  if (value.kind == Kind::kBytes || value.kind == Kind::kText) return value.text;
  const auto arguments = ArgumentsOf(place);
  const std::string name = NameOf(place);
  if (name == "builtins.bytes" && arguments.empty()) return "";
  if (name != "_codecs.encode" || arguments.empty()) return std::nullopt;
  return EncodeCharset(at(arguments[0]).text, "LATIN1");
}

std::optional<std::int64_t> PickleView::IntegerOf(std::int32_t place) const {
  const PickleValue& value = at(place);
  if (value.kind != Kind::kInteger) return std::nullopt;
  return value.integer;
}

std::optional<std::vector<std::int64_t>> PickleView::IntegersOf(std::int32_t place) const {
  if (at(place).kind != Kind::kList && NameOf(place) != "torch.Size") return std::nullopt;
  std::vector<std::int64_t> integers;
  for (const std::int32_t item : ItemsOf(place)) {
    const auto integer = IntegerOf(item);
    if (!integer) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

absl::Status CheckPickleNames(const PickleView& view) {
  PARITECT_RETURN_IF_ERROR(CheckNames(view, 0));
  const auto count = static_cast<std::int32_t>(view.pickle().values.size());
  for (std::int32_t place = 0; place < count; ++place) {
    if (view.at(place).kind != Kind::kObject || !IsModule(view, place)) continue;
    const std::string name = view.NameOf(place);  // none in the legacy layout, which names modules beside the pickle
    return absl::UnimplementedError(absl::StrCat("it holds a whole module (",
                                                 name.empty() ? "nn.Module" : DisplayBytes(name),
                                                 "), whose class would have to be run: save model.state_dict()"));
  }
  return absl::OkStatus();
}

}  // namespace paritect
