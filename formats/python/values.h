// What is known of the values that a script computes: constants, objects of known functions, the project's own
// functions, classes and their instances; of everything else, what it was derived from.
#ifndef PARITECT_FORMATS_PYTHON_VALUES_H_
#define PARITECT_FORMATS_PYTHON_VALUES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/python/syntax.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// The number of a value in its store; values are shared by number, as Python's objects are.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

enum class ValueKind : std::uint8_t {
  kUnknown,
  kNone,
  kBoolean,
  kInteger,
  kNumber,
  kText,
  kSequence,  // list, tuple, set: `items`
  kMap,       // dictionary: `fields` by text keys; others are not kept
  kApi,       // name of a package, function or class: `text` in full
  kObject,    // what a known function gave: `text` is its type
  kFunction,  // of the project: `module`, `node`, `scope`
  kClass,     // of the project: `module`, `node`; `items` its bases, `fields` its attributes
  kInstance,  // of a project's class: `self` is the class
  kModule,    // of the project: `module`
  kBound,     // attribute `text` of `self`, where nothing more is known of it, or a method
  kSuper,     // super(): `self` is the instance, `items[0]` the class whose bases are meant
};

// What a value was derived from.
enum Trait : std::uint8_t {
  kFollowsRank = 1,
  kFollowsWorld = 2,
  kFollowsHost = 4,
  kSampleNumber = 8,  // the index that a loader hands to a data set
  kDuplicate = 16,    // a copy, which is not what is trained
  kPosition = 32,     // a place in a list; of a dictionary: its keys are places
};

// Fields of a list that is one of two: what is added to it is perhaps added to each.
inline constexpr char kEither[] = "<either>";

// `text` of a function under @contextmanager; others are "staticmethod", "classmethod", "property", "hydra" or "".
inline constexpr char kContextManager[] = "context manager";

struct ScriptValue {
  ValueKind kind = ValueKind::kUnknown;
  bool boolean = false;
  std::uint8_t traits = 0;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  // How it comes about, in names that do not depend on the project's variables; holds '?' where something is not known.
  std::string symbol;
  std::string option;  // it is the default of this command-line option or configuration key
  std::vector<ValueId> items;
  std::vector<std::pair<std::string, ValueId>> fields;
  std::vector<std::int32_t> made_of;   // facts, sorted
  std::vector<std::int32_t> unsorted;  // listings whose order it still has, sorted
  ValueId self = kNoValue;
  std::int32_t module = -1;
  NodeId node = kNoNode;
  std::int32_t scope = -1;
  std::int32_t fact = -1;  // that made it
  bool closed = false;     // `made_of` holds what its fields are made of, too

  bool is_constant() const { return kind >= ValueKind::kNone && kind <= ValueKind::kText; }
  bool is_number() const { return kind == ValueKind::kInteger || kind == ValueKind::kNumber; }
  double as_number() const { return kind == ValueKind::kInteger ? static_cast<double>(integer) : number; }
};

// Joins two sorted lists, no longer than some.
void MergeNumbers(std::vector<std::int32_t>& into, const std::vector<std::int32_t>& from);

class ValueStore {
 public:
  ValueStore();

  // A value stays where it is.
  ScriptValue& operator[](ValueId id) {
    const auto at = static_cast<std::size_t>(id);
    return chunks_[at / kChunk][at % kChunk];
  }
  const ScriptValue& operator[](ValueId id) const {
    const auto at = static_cast<std::size_t>(id);
    return chunks_[at / kChunk][at % kChunk];
  }
  std::size_t size() const { return size_; }

  ValueId Add(ScriptValue value);
  ValueId Unknown(std::string symbol = "?");
  ValueId None() const { return none_; }
  ValueId Boolean(bool value);
  ValueId Integer(std::int64_t value);
  ValueId Number(double value);
  ValueId Text(absl::string_view value);
  ValueId Api(absl::string_view full_name);

  // Adds to `into` what `from` was derived from: facts, traits, and, with `order`, the listings whose order it has.
  void Derive(ScriptValue& into, ValueId from, bool order = true) const;

  // Everything that a value is made of, also through its items, fields and what it wraps.
  std::vector<std::int32_t> AllFacts(ValueId id) const;
  std::vector<std::int32_t> AllUnsorted(ValueId id) const;
  std::uint8_t AllTraits(ValueId id) const;

  // How it comes about: the constant itself, or its symbol. Bounded.
  std::string SymbolOf(ValueId id) const;
  // False where the value is no constant (nor a list or dictionary of constants).
  bool ToProto(ValueId id, v1::Value& out) const;

  // The command line is known: an option is its value, and no name for what it may be.
  bool options_known = false;

  // The value of a field; kNoValue.
  ValueId Field(ValueId id, absl::string_view name) const;

 private:
  template <typename Visit>
  void Walk(ValueId id, Visit visit) const;
  std::vector<std::int32_t> Gather(ValueId id, std::vector<std::int32_t> ScriptValue::*numbers) const;

  // One vector of them all would be copied, and its memory doubled, each time that it grows.
  static constexpr std::size_t kChunk = 512;
  std::vector<std::unique_ptr<ScriptValue[]>> chunks_;
  std::size_t size_ = 0;
  ValueId none_ = kNoValue;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_VALUES_H_
