#include "formats/weights/pickled_tensors.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/npy.h"
#include "formats/weights/scalar_value.h"
#include "formats/weights/strided.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = PickleValue::Kind;

constexpr std::size_t kDepthMax = 64;
constexpr std::uint64_t kVisitsMax = 1'000'000;  // a value may stand in very many places ("billion laughs")
constexpr std::size_t kFactTextBytesMax = 4096;
constexpr std::size_t kFactListMax = 64;
constexpr int kWrappersMax = 8;
// Views may repeat what a file holds (expand): beyond this they are refused.
constexpr std::uint64_t kViewFactorMax = 4;
constexpr std::uint64_t kViewBytesExtra = 256 << 20;

struct TorchType {
  absl::string_view storage;  // class of typed storages
  absl::string_view name;     // torch.NAME
  DType type;
};
constexpr TorchType kTypes[] = {
    {"FloatStorage", "float32", DType::kF32},
    {"DoubleStorage", "float64", DType::kF64},
    {"HalfStorage", "float16", DType::kF16},
    {"BFloat16Storage", "bfloat16", DType::kBF16},
    {"LongStorage", "int64", DType::kI64},
    {"IntStorage", "int32", DType::kI32},
    {"ShortStorage", "int16", DType::kI16},
    {"CharStorage", "int8", DType::kI8},
    {"ByteStorage", "uint8", DType::kU8},
    {"BoolStorage", "bool", DType::kBool},
    {"ComplexFloatStorage", "complex64", DType::kC64},
    {"ComplexDoubleStorage", "complex128", DType::kC128},
    {"-", "uint16", DType::kU16},
    {"-", "uint32", DType::kU32},
    {"-", "uint64", DType::kU64},
    {"-", "float8_e4m3fn", DType::kF8E4M3},
    {"-", "float8_e5m2", DType::kF8E5M2},
    {"-", "float8_e4m3fnuz", DType::kF8E4M3Fnuz},
    {"-", "float8_e5m2fnuz", DType::kF8E5M2Fnuz},
    {"-", "float8_e8m0fnu", DType::kF8E8M0},
};

// Of quantised tensors, which are not read: how long an element is.
constexpr TorchType kQuantised[] = {
    {"QInt8Storage", "qint8", DType::kI8},       {"QUInt8Storage", "quint8", DType::kU8},
    {"QInt32Storage", "qint32", DType::kI32},    {"QUInt4x2Storage", "quint4x2", DType::kU8},
    {"QUInt2x4Storage", "quint2x4", DType::kU8},
};

absl::string_view LastPart(absl::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

std::optional<DType> TypeOfName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "torch.")) return std::nullopt;
  for (const TorchType& one : kTypes) {
    if (one.name == name) return one.type;
  }
  return std::nullopt;
}

// What the top keys of checkpoints say of what stands below them.
v1::TensorRole RoleOf(absl::string_view name) {
  const absl::string_view top = name.substr(0, name.find('.'));
  if (absl::StrContains(top, "optim")) return v1::TENSOR_ROLE_OPTIMIZER_STATE;
  if (absl::StrContains(top, "rng") || absl::StrContains(top, "random")) return v1::TENSOR_ROLE_OTHER;
  const absl::string_view last = LastPart(name);
  for (absl::string_view buffer : {"running_mean", "running_var", "num_batches_tracked"}) {
    if (last == buffer) return v1::TENSOR_ROLE_BUFFER;
  }
  return v1::TENSOR_ROLE_UNSPECIFIED;
}

class Walker {
 public:
  Walker(const PickleView& view, const FindStorage& find, const PickledOptions& options, StoredTensors& out)
      : view_(view), find_(find), options_(options), out_(out) {}

  absl::Status Walk(std::int32_t root) {
    PARITECT_RETURN_IF_ERROR(Visit(root, ""));
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.at >= frame.items.size()) {
        frames_.pop_back();
        continue;
      }
      std::string name;
      std::int32_t place = 0;
      Next(frame, name, place);
      // Here already: names of what stands below it are made of it.
      PARITECT_RETURN_IF_ERROR(Visit(place, out_.BoundedName(std::move(name))));
    }
    return absl::OkStatus();
  }

 private:
  // A container that is being walked.
  struct Frame {
    std::string name;
    std::vector<std::int32_t> items;
    bool pairs = false;
    std::size_t at = 0;
  };

  void Next(Frame& frame, std::string& name, std::int32_t& place) const {
    const std::string dot = frame.name.empty() ? "" : ".";
    if (frame.pairs) {
      name = StrCat(frame.name, dot, KeyText(frame.items[frame.at]));
      place = frame.items[frame.at + 1];
      frame.at += 2;
    } else {
      name = StrCat(frame.name, dot, frame.at);
      place = frame.items[frame.at++];
    }
  }

  std::string KeyText(std::int32_t place) const {
    const PickleValue& key = view_.at(place);
    switch (key.kind) {
      case Kind::kText: return key.text;
      case Kind::kInteger: return StrCat(key.integer);
      case Kind::kBoolean: return key.boolean ? "True" : "False";
      case Kind::kGlobal: return view_.NameOf(place);
      case Kind::kNone: return "None";
      case Kind::kNumber: return StrCat(key.number);
      case Kind::kBytes: return key.text;
      case Kind::kList: break;
      default: return "?";
    }
    // A tuple of few plain keys; what nests in keys is not followed.
    constexpr std::size_t kItemsMax = 8;
    if (key.items.size() > kItemsMax) return "?";
    std::vector<std::string> items;
    for (const std::int32_t item : key.items) {
      if (view_.at(item).kind == Kind::kList) return "?";
      items.push_back(KeyText(item));
    }
    return absl::StrJoin(items, "+");
  }

  absl::Status Count(std::size_t visits) {
    visits_ += visits;
    if (visits_ <= kVisitsMax) return absl::OkStatus();
    return absl::ResourceExhaustedError(StrCat("more than ", kVisitsMax,
                                               " values when every place is counted where a value "
                                               "stands (a pickle that doubles itself?)"));
  }

  absl::Status Enter(const std::string& name, std::vector<std::int32_t> items, bool pairs) {
    if (frames_.size() >= kDepthMax) {
      return absl::ResourceExhaustedError(
          StrCat("values nested deeper than ", kDepthMax, " at ", DisplayBytes(name.substr(0, 100))));
    }
    if (pairs && items.size() % 2 != 0) items.pop_back();
    PARITECT_RETURN_IF_ERROR(Count(items.size()));
    frames_.push_back({name, std::move(items), pairs, 0});
    return absl::OkStatus();
  }

  absl::Status Visit(std::int32_t place, const std::string& name) {
    PARITECT_RETURN_IF_ERROR(Count(1));
    const PickleValue& value = view_.at(place);
    if (auto plain = Plain(place)) {
      out_.AddFact(name, *std::move(plain));
      return absl::OkStatus();
    }
    switch (value.kind) {
      case Kind::kDict: return Enter(name, value.items, true);
      case Kind::kList: return List(place, name);
      case Kind::kPersistent: return BareStorage(place, name);
      case Kind::kObject: return Object(place, name);
      default: return absl::OkStatus();
    }
  }

  // None, a boolean, a number, a short text, a name.
  std::optional<v1::Value> Plain(std::int32_t place) const {
    const PickleValue& value = view_.at(place);
    v1::Value plain;
    switch (value.kind) {
      case Kind::kNone: plain.set_null(true); return plain;
      case Kind::kBoolean: return BooleanValue(value.boolean);
      case Kind::kInteger: return IntegerValue(value.integer);
      case Kind::kNumber: return RealValue(value.number);
      case Kind::kText:
        if (value.text.size() > kFactTextBytesMax) return std::nullopt;
        return TextValue(value.text);
      case Kind::kGlobal: return TextValue(view_.NameOf(place));
      default: return std::nullopt;
    }
  }

  // A short list of plain values is one fact.
  absl::Status List(std::int32_t place, const std::string& name) {
    std::vector<std::int32_t> items = view_.ItemsOf(place);
    PARITECT_RETURN_IF_ERROR(Count(items.size()));
    v1::Value list;
    list.mutable_list();
    bool plain = true;
    for (std::size_t i = 0; i < items.size() && plain; ++i) {
      auto item = Plain(items[i]);
      plain = item.has_value();
      if (plain && i < kFactListMax) *list.mutable_list()->add_items() = *std::move(item);
    }
    if (!plain) return Enter(name, std::move(items), false);
    if (items.size() <= kFactListMax) out_.AddFact(name, std::move(list));
    return absl::OkStatus();
  }

  absl::Status Object(std::int32_t place, const std::string& name) {
    const std::string callable = view_.NameOf(place);
    const auto arguments = view_.ArgumentsOf(place);
    if (absl::StrContains(callable, "_rebuild_")) return Tensor(place, name);
    if (callable == "numpy.core.multiarray._reconstruct") return Array(place, name);
    if (callable == "numpy.core.multiarray.scalar") return NumpyScalar(place, name);
    if (callable == "builtins.getattr" && arguments.size() == 2) return Visit(arguments[1], name);
    std::vector<std::int32_t> pairs = view_.PairsOf(place);
    if (!pairs.empty()) return Enter(name, std::move(pairs), true);
    if (!view_.ItemsOf(place).empty()) return List(place, name);
    if (const auto state = StateDict(place)) return Enter(name, view_.PairsOf(*state), true);
    // A member of an enumeration, a device and the like: what they were made from.
    if (arguments.size() == 1 && view_.at(place).held.empty()) {
      if (auto plain = Plain(arguments[0])) out_.AddFact(name, *std::move(plain));
    }
    return absl::OkStatus();
  }

  // The attributes of an object: a dictionary, or (None, dictionary) of a class with slots. What a dictionary of its
  // own class carries besides (versions of modules) is no part of the checkpoint.
  std::optional<std::int32_t> StateDict(std::int32_t place) const {
    if (view_.NameOf(place) == "collections.OrderedDict") return std::nullopt;
    auto state = view_.StateOf(place);
    if (!state) return std::nullopt;
    const PickleValue& value = view_.at(*state);
    if (value.kind == Kind::kList && value.items.size() == 2) state = value.items[1];
    return view_.at(*state).kind == Kind::kDict ? state : std::nullopt;
  }

  // --- tensors
  absl::Status Unreadable(const std::string& name, absl::string_view why) {
    TensorInfo info;
    info.name = name;
    info.dtype = DType::kBlocks;
    info.dtype_word = "unknown";
    info.role = RoleOf(name);
    return out_.AddUnreadable(std::move(info), why);
  }

  absl::Status Tensor(std::int32_t place, const std::string& name) {
    std::string function = view_.NameOf(place);
    std::vector<std::int32_t> arguments(view_.ArgumentsOf(place).begin(), view_.ArgumentsOf(place).end());
    TensorInfo info;
    info.name = name;
    info.role = RoleOf(name);
    for (int i = 0; i < kWrappersMax && !arguments.empty(); ++i) {
      const absl::string_view last = LastPart(function);
      std::int32_t inner = -1;
      if (last == "_rebuild_from_type" || last == "_rebuild_from_type_v2") {
        if (arguments.size() < 3 || view_.at(arguments[0]).kind != Kind::kGlobal) break;
        function = view_.NameOf(arguments[0]);
        arguments = view_.ItemsOf(arguments[2]);
        continue;
      }
      if (last == "_rebuild_parameter" || last == "_rebuild_parameter_with_state") {
        if (info.role == v1::TENSOR_ROLE_UNSPECIFIED) info.role = v1::TENSOR_ROLE_PARAMETER;
        // Of a parameter alone: what state_dict gives is detached, trained or not.
        const bool told = arguments.size() > 1 && view_.at(arguments[1]).kind == Kind::kBoolean;
        if (told && !info.requires_grad.has_value()) info.requires_grad = view_.at(arguments[1]).boolean;
        inner = arguments[0];
      } else if (last == "_rebuild_device_tensor_from_cpu_tensor" || last == "_rebuild_device_tensor_from_numpy") {
        inner = arguments[0];
      } else {
        break;
      }
      if (view_.NameOf(inner) == "numpy.core.multiarray._reconstruct") return Array(inner, name);
      function = view_.NameOf(inner);
      const auto next = view_.ArgumentsOf(inner);
      arguments.assign(next.begin(), next.end());
    }
    const absl::string_view last = LastPart(function);
    if (last == "_rebuild_tensor" || last == "_rebuild_tensor_v2" || last == "_rebuild_tensor_v3") {
      return Annotate(Rebuild(arguments, std::move(info)), StrCat("tensor ", DisplayBytes(name)));
    }
    if (last == "_rebuild_meta_tensor_no_storage")
      return Unreadable(name, "a tensor on the meta device, which has no data");
    return Unreadable(name, StrCat("a tensor that ", DisplayBytes(function),
                                   " makes, which is not read: save it as a dense tensor on the CPU"));
  }

  // (storage, offset, size, stride, requires_grad, hooks[, dtype of v3])
  absl::Status Rebuild(const std::vector<std::int32_t>& arguments, TensorInfo info) {
    if (arguments.size() < 4) return absl::DataLossError("a tensor without storage, offset, size and stride");
    if (view_.at(arguments[0]).kind == Kind::kObject) {
      return Unreadable(info.name, "its values stand in a pickle within the pickle: save it with torch.save");
    }
    if (IsTurnedWhenRead(arguments)) {
      return Unreadable(info.name, "a conjugated or negated view: save it with .resolve_conj().resolve_neg()");
    }
    const auto id = ReadStorageId(view_, arguments[0]);
    const auto offset = view_.IntegerOf(arguments[1]);
    const auto size = view_.IntegersOf(arguments[2]);
    const auto strides = view_.IntegersOf(arguments[3]);
    if (!id || !offset || *offset < 0 || !size || !strides || size->size() != strides->size()) {
      return absl::DataLossError("its storage, offset, size or stride is none");
    }
    info.shape = *size;
    info.dtype = id->dtype;
    info.device = IsValidUtf8(id->location) ? id->location : DisplayBytes(id->location);
    if (!id->unreadable.empty()) return Unreadable(info.name, id->unreadable);
    if (!id->typed) {
      const auto type = arguments.size() > 6 ? TypeOfName(view_.NameOf(arguments[6])) : std::nullopt;
      if (!type) return Unreadable(info.name, "elements of a type that is not known");
      info.dtype = *type;
    }
    return View(std::move(info), *id, static_cast<std::uint64_t>(*offset), *strides);
  }

  // Metadata behind the arguments, since PyTorch 2.0: {"conj": True}, {"neg": True}.
  bool IsTurnedWhenRead(const std::vector<std::int32_t>& arguments) const {
    for (std::size_t i = 6; i < arguments.size(); ++i) {
      for (const absl::string_view bit : {"conj", "neg"}) {
        const auto set = view_.Find(arguments[i], bit);
        if (set.has_value() && view_.at(*set).boolean) return true;
      }
    }
    return false;
  }

  absl::Status View(TensorInfo info, const StorageId& id, std::uint64_t offset,
                    const std::vector<std::int64_t>& strides) {
    if (const absl::Status sized = SizeTensor(info); !sized.ok()) return absl::DataLossError(sized.message());
    const auto element = static_cast<std::uint64_t>(DTypeBits(info.dtype) / 8);
    absl::uint128 at = static_cast<absl::uint128>(offset) * element;
    if (id.view_offset > 0)
      at += static_cast<absl::uint128>(id.view_offset) * static_cast<unsigned>(DTypeBits(id.dtype) / 8);
    if (at > INT64_MAX) return absl::DataLossError("an offset of more than 2^63 bytes");
    PARITECT_ASSIGN_OR_RETURN(SharedBytes storage, find_(id));
    StridedView strided = {std::move(storage), static_cast<std::uint64_t>(at), info.dtype, info.shape, strides,
                           options_.big_endian};
    PARITECT_RETURN_IF_ERROR(CheckView(strided));
    const std::string key = StrCat(id.key, "|", static_cast<std::uint64_t>(at), "|", static_cast<int>(info.dtype), "|",
                                   absl::StrJoin(info.shape, ","), "|", absl::StrJoin(strides, ","));
    const auto [known, is_new] = views_.emplace(key, info.name);
    if (!is_new && info.elements > 0) info.alias_of = known->second;
    if (is_new) PARITECT_RETURN_IF_ERROR(CountBytes(info.bytes));
    return AddView(std::move(info), std::move(strided), out_);
  }

  absl::Status CountBytes(std::uint64_t bytes) {
    const std::uint64_t bound = kViewFactorMax * options_.file_bytes + kViewBytesExtra;
    if (bytes > bound || bytes_ > bound - bytes) {
      return absl::ResourceExhaustedError(StrCat("its views claim more than ", bound, " bytes, the file has ",
                                                 options_.file_bytes,
                                                 " (an expanded view: save it with .contiguous())"));
    }
    bytes_ += bytes;
    return absl::OkStatus();
  }

  // A storage that was saved by itself.
  absl::Status BareStorage(std::int32_t place, const std::string& name) {
    const auto id = ReadStorageId(view_, place);
    if (!id) return absl::OkStatus();
    if (!id->unreadable.empty()) return Unreadable(name, id->unreadable);
    if (id->elements > INT64_MAX) return absl::DataLossError("a storage of more than 2^63 elements");
    TensorInfo info;
    info.name = name;
    info.role = RoleOf(name);
    info.dtype = id->dtype;
    info.device = id->location;
    info.shape = {static_cast<std::int64_t>(id->elements)};
    return View(std::move(info), *id, 0, {1});
  }

  // --- numpy: arrays (states of random generators, or the weights themselves) and single numbers
  // numpy.dtype("f8", False, True) with the state (version, "<", ...).
  std::optional<DType> NumpyType(std::int32_t place, bool& swap) const {
    const auto arguments = view_.ArgumentsOf(place);
    if (view_.NameOf(place) != "numpy.dtype" || arguments.empty()) return std::nullopt;
    std::string order = "<";
    if (const auto state = view_.StateOf(place)) {
      const std::vector<std::int32_t> items = view_.ItemsOf(*state);
      if (items.size() > 1 && view_.at(items[1]).text == ">") order = ">";
    }
    const auto type = DTypeOfNumpy(StrCat(order, view_.at(arguments[0]).text), swap);
    return type.ok() ? std::optional<DType>(*type) : std::nullopt;
  }

  absl::Status Array(std::int32_t place, const std::string& name) {
    const auto state = view_.StateOf(place);
    const std::vector<std::int32_t> items = state ? view_.ItemsOf(*state) : std::vector<std::int32_t>();
    bool swap = false;
    const auto type = items.size() == 5 ? NumpyType(items[2], swap) : std::nullopt;
    const auto shape = items.size() == 5 ? view_.IntegersOf(items[1]) : std::nullopt;
    auto bytes = items.size() == 5 ? view_.BytesOf(items[4]) : std::nullopt;
    if (!type || !shape || !bytes) return Unreadable(name, "an array of numpy whose elements are no plain numbers");
    TensorInfo info;
    info.name = name;
    info.role = RoleOf(name);
    info.dtype = *type;
    info.shape = *shape;
    if (const absl::Status sized = SizeTensor(info); !sized.ok()) return absl::DataLossError(sized.message());
    PARITECT_RETURN_IF_ERROR(CountBytes(bytes->size()));
    std::vector<std::int64_t> strides = ContiguousStrides(info.shape);
    if (view_.at(items[3]).boolean) {  // Fortran's order
      strides = ContiguousStrides(std::vector<std::int64_t>(info.shape.rbegin(), info.shape.rend()));
      std::reverse(strides.begin(), strides.end());
    }
    StridedView view = {
        BytesInMemory("the pickle", *std::move(bytes)), 0, info.dtype, info.shape, std::move(strides), swap};
    return AddView(std::move(info), std::move(view), out_);
  }

  absl::Status NumpyScalar(std::int32_t place, const std::string& name) {
    const auto arguments = view_.ArgumentsOf(place);
    if (arguments.size() != 2) return absl::OkStatus();
    bool swap = false;
    const auto type = NumpyType(arguments[0], swap);
    auto raw = view_.BytesOf(arguments[1]);
    if (!type || !raw) return absl::OkStatus();
    if (swap) std::reverse(raw->begin(), raw->end());
    if (auto value = ScalarValue(*type, *raw)) out_.AddFact(name, *std::move(value));
    return absl::OkStatus();
  }

  const PickleView& view_;
  const FindStorage& find_;
  const PickledOptions& options_;
  StoredTensors& out_;
  std::vector<Frame> frames_;
  std::uint64_t visits_ = 0;
  std::uint64_t bytes_ = 0;
  std::map<std::string, std::string> views_;  // first name of each
};

}  // namespace

std::optional<StorageId> ReadStorageId(const PickleView& view, std::int32_t place) {
  if (view.at(place).kind != Kind::kPersistent || view.at(place).items.size() != 1) return std::nullopt;
  const std::vector<std::int32_t> parts = view.ItemsOf(view.at(place).items[0]);
  if (parts.size() < 5 || view.at(parts[0]).text != "storage") return std::nullopt;
  const auto elements = view.IntegerOf(parts[4]);
  if (!elements || *elements < 0) return std::nullopt;
  StorageId id;
  id.key = view.at(parts[2]).text;
  if (const auto number = view.IntegerOf(parts[2])) id.key = StrCat(*number);
  id.location = view.at(parts[3]).text;
  id.elements = static_cast<std::uint64_t>(*elements);
  const std::string type = view.NameOf(parts[1]);
  const absl::string_view last = LastPart(type);
  id.typed = last != "UntypedStorage";
  id.unreadable = id.typed ? StrCat("a storage of the type ", DisplayBytes(type), ", which is not read") : "";
  id.sized = !id.typed;
  for (const TorchType& one : kTypes) {
    if (one.storage != last) continue;
    id.dtype = one.type;
    id.sized = true;
    id.unreadable.clear();
  }
  for (const TorchType& one : kQuantised) {
    if (one.storage != last) continue;
    id.dtype = one.type;
    id.sized = true;
  }
  if (parts.size() > 5) {  // (key, offset, size) of a view
    const std::vector<std::int32_t> part = view.ItemsOf(parts[5]);
    const auto offset = part.size() == 3 ? view.IntegerOf(part[1]) : std::nullopt;
    if (offset && *offset > 0) id.view_offset = static_cast<std::uint64_t>(*offset);
  }
  return id;
}

absl::Status AddPickledTensors(const PickleView& view, const FindStorage& find, const PickledOptions& options,
                               StoredTensors& out) {
  PARITECT_RETURN_IF_ERROR(CheckPickleNames(view));
  return Walker(view, find, options, out).Walk(view.pickle().root);
}

}  // namespace paritect
