// Questions to a pickle that was read (formats/pickle.h), and which names it may use.
#ifndef PARITECT_FORMATS_WEIGHTS_PICKLE_VIEW_H_
#define PARITECT_FORMATS_WEIGHTS_PICKLE_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/pickle.h"

namespace paritect {

// Budgets for checkpoints: of a list of tensors, not of their values.
inline constexpr std::uint64_t kPickleBytesMax = 64 << 20;
inline constexpr PickleLimits kCheckpointPickleLimits = {2'000'000, 128 << 20};

class PickleView {
 public:
  explicit PickleView(const Pickle& pickle) : pickle_(pickle) {}

  const Pickle& pickle() const { return pickle_; }
  const PickleValue& at(std::int32_t place) const { return pickle_.at(place); }

  // "torch._utils._rebuild_tensor_v2" of a name, or of the name that an object is a call of; "" for others.
  std::string NameOf(std::int32_t place) const;
  // Of an object: its arguments; empty for others.
  absl::Span<const std::int32_t> ArgumentsOf(std::int32_t place) const;
  // Of an object: what BUILD gave it.
  std::optional<std::int32_t> StateOf(std::int32_t place) const;
  // Key, value, key, value, ... of a dictionary or of an object of a class derived from one (OrderedDict, in all of its
  // spellings); items of a list or of an object of a class derived from one.
  std::vector<std::int32_t> PairsOf(std::int32_t place) const;
  std::vector<std::int32_t> ItemsOf(std::int32_t place) const;
  // The value of a text key in PairsOf.
  std::optional<std::int32_t> Find(std::int32_t place, absl::string_view key) const;
  std::optional<std::int64_t> IntegerOf(std::int32_t place) const;
  std::optional<std::vector<std::int64_t>> IntegersOf(std::int32_t place) const;
  // Bytes, in all of their spellings: protocol 2 has _codecs.encode(text, "latin1") and bytes().
  std::optional<std::string> BytesOf(std::int32_t place) const;

 private:
  const Pickle& pickle_;
};

// Nothing that a pickle names is ever run here, but who loads the file with its framework would run it. Refused
// (DataLoss, with the name): modules that act on the machine, calls of functions that checkpoints have no use for,
// calls of what another call returned, the same in pickles that stand within it. Unimplemented: a whole module
// (nn.Module), whose class would have to be run.
absl::Status CheckPickleNames(const PickleView& view);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_PICKLE_VIEW_H_
