#include "formats/weights/pickle_view.h"

#include <algorithm>

#include "absl/base/macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using Kind = PickleValue::Kind;

// Modules of Python that act on the machine or make code: no checkpoint names them. The first four are PyTorch's own
// list (torch/_weights_only_unpickler.py, _blocklisted_modules); the others are those of the published samples of
// hostile pickles (picklescan's advisories).
constexpr absl::string_view kActingModules[] = {
    "sys",
    "os",
    "posix",
    "nt",
    "subprocess",
    "runpy",
    "pty",
    "socket",
    "shutil",
    "importlib",
    "ctypes",
    "code",
    "codeop",
    "commands",
    "pickle",
    "_pickle",
    "cPickle",
    "marshal",
    "operator",
    "_operator",
    "timeit",
    "pdb",
    "bdb",
    "asyncio",
    "webbrowser",
    "urllib",
    "urllib2",
    "requests",
    "http",
    "httplib",
    "ftplib",
    "smtplib",
    "telnetlib",
    "ssl",
    "tempfile",
    "multiprocessing",
    "threading",
    "_thread",
    "signal",
    "platform",
    "pip",
    "setuptools",
    "distutils",
    "venv",
    "ensurepip",
    "idlelib",
    "cProfile",
    "profile",
    "trace",
    "doctest",
    "unittest",
    "pydoc",
    "inspect",
    "gc",
    "linecache",
    "logging",
    "dill",
    "cloudpickle",
    "joblib",
    "builtins.eval",
    "builtins.exec",
    "builtins.open",
    "builtins.compile",
    "builtins.__import__",
    "builtins.input",
    "builtins.breakpoint",
    "builtins.setattr",
    "builtins.globals",
    "builtins.vars",
    "builtins.apply",
    "builtins.execfile",
    "builtins.file",
    "builtins.map",
    "builtins.filter",
    "builtins.delattr",
    "builtins.help",
    "torch.hub",
    "torch.load",
    "torch.serialization.load",
    "torch.jit",
    "torch.package",
    "torch.utils.cpp_extension",
    "torch.utils.collect_env",
    "torch._dynamo",
    "torch._inductor",
    "numpy.load",
    "numpy.testing",
    "numpy.f2py",
    "numpy.distutils",
    "types.CodeType",
    "types.FunctionType",
};

// Functions that checkpoints call, by the name's beginning.
constexpr absl::string_view kKnownFunctions[] = {
    "torch._utils._rebuild_",
    "torch._tensor._rebuild_",
    "torch.device",
    "torch.dtype",
    "torch.nn.parameter._rebuild_",
    "torch.serialization._get_layout",
    "torch.storage._load_from_bytes",
    "torch.distributed.",
    "torch_npu.",
    "collections.defaultdict",
    "collections.deque",
    "_codecs.encode",
    "copyreg._reconstructor",
    "copyreg.__newobj__",
    "builtins.set",
    "builtins.frozenset",
    "builtins.bytearray",
    "builtins.bytes",
    "builtins.complex",
    "builtins.list",
    "builtins.dict",
    "builtins.tuple",
    "builtins.slice",
    "builtins.range",
    "builtins.object",
    "builtins.int",
    "builtins.float",
    "builtins.str",
    "builtins.bool",
    "builtins.unicode",
    "builtins.long",
    "builtins.type",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy.dtype",
    "numpy.ndarray",
    "numpy.random._pickle.__",
    "datetime.",
    "pathlib.",
    "uuid.",
    "functools.partial",
    "ml_dtypes.",
    "easydict.",
};

bool IsUnder(absl::string_view name, absl::string_view module) {
  return name == module || (absl::StartsWith(name, module) && name[module.size()] == '.');
}

bool IsActing(absl::string_view name) {
  return std::any_of(std::begin(kActingModules), std::end(kActingModules),
                     [&](absl::string_view module) { return IsUnder(name, module); });
}

absl::string_view LastPart(absl::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

// By the custom of Python: CamelCase names are classes.
bool IsClassName(absl::string_view name) {
  absl::string_view last = LastPart(name);
  while (!last.empty() && last[0] == '_') last.remove_prefix(1);
  return !last.empty() && absl::ascii_isupper(static_cast<unsigned char>(last[0]));
}

bool IsKnownFunction(absl::string_view name) {
  return std::any_of(std::begin(kKnownFunctions), std::end(kKnownFunctions),
                     [&](absl::string_view known) { return absl::StartsWith(name, known); });
}

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

absl::Status CheckCall(const PickleView& view, std::int32_t place) {
  const PickleValue& object = view.at(place);
  const std::int32_t callable = object.items.empty() ? place : object.items[0];
  if (view.at(callable).kind == Kind::kPersistent) return absl::OkStatus();  // the legacy layout's classes of modules
  if (view.at(callable).kind != Kind::kGlobal) return Hostile("of another call", "calls the result");
  const std::string name = view.NameOf(callable);
  if (object.boolean || IsClassName(name) || IsKnownFunction(name) || IsEnumMember(view, place))
    return absl::OkStatus();
  return Hostile(name, "calls");
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
  const auto count = static_cast<std::int32_t>(view.pickle().values.size());
  for (std::int32_t place = 0; place < count; ++place) {
    const PickleValue& value = view.at(place);
    if (value.kind == Kind::kGlobal && IsActing(view.NameOf(place))) return Hostile(view.NameOf(place), "names");
    if (value.kind == Kind::kObject) PARITECT_RETURN_IF_ERROR(CheckCall(view, place));
  }
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
