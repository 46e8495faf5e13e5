// Python pickles, read without running anything: the opcodes (protocols 0 to 5) are walked and what they would build
// is kept as a tree of plain values. Classes and functions are names; calling them is only noted.
// Source: CPython, Lib/pickletools.py; PyTorch, torch/serialization.py (ZIP layout, legacy layout).
#ifndef PARITECT_FORMATS_PICKLE_H_
#define PARITECT_FORMATS_PICKLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct PickleValue {
  enum class Kind {
    kNone,
    kBoolean,
    kInteger,  // of 64 bits; a larger one is kBytes, left out
    kNumber,
    kText,
    kBytes,
    kList,    // list, tuple, set: `items`
    kDict,    // `items`: key, value, key, value, ...
    kGlobal,  // `text`: "module name"
    kObject,  // result of a call: items = {callable, arguments} or {callable, arguments, state}; `held`: what was put
              // into it; `boolean`: made by a class's own constructor (NEWOBJ), which calls nothing else
    kPersistent  // a persistent id: items = {id}
  };
  Kind kind = Kind::kNone;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<std::int32_t> items;  // places in Pickle::values; a value may hold itself
  // Of an object of a class derived from list or dict: items, or key, value, key, value, ...
  std::vector<std::int32_t> held;
  bool held_pairs = false;
};

struct Pickle {
  std::vector<PickleValue> values;
  std::int32_t root = 0;
  std::size_t bytes = 0;  // length of the pickle itself; another may follow

  const PickleValue& at(std::int32_t place) const { return values[static_cast<std::size_t>(place)]; }
};

struct PickleLimits {
  std::size_t values_max = 1 << 19;
  std::size_t text_bytes_max = 64 << 20;  // of all texts and copies together
};

// The pickle at the start of `bytes`. DataLoss "why": cut or not a pickle; ResourceExhausted: over the limits.
absl::StatusOr<Pickle> ReadPickle(absl::string_view bytes, const PickleLimits& limits = {});

// The pickle that a file of torch.save holds: "NAME/data.pkl" of the ZIP layout (stored, not compressed), or the
// fourth pickle of the legacy layout; a plain pickle is itself. InvalidArgument: none of these; DataLoss: damaged.
absl::StatusOr<absl::string_view> TorchPickleBytes(absl::string_view file);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PICKLE_H_
