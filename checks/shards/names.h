// Names of shard lists made comparable: the data root of each side is taken away.
#ifndef PARITECT_CHECKS_SHARDS_NAMES_H_
#define PARITECT_CHECKS_SHARDS_NAMES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// Whether the name spells its path plainly: no empty step ("a//b"), no "." or ".." within. The "//" after the
// scheme of an address ("s3://bucket/x") does not count, nor do leading "./", which DataRoot takes away.
bool IsPlainName(absl::string_view name);

// The same path spelled plainly. ".." takes the folder before it away (links are not known here).
std::string PlainName(absl::string_view name);

// Where the relative part of each name begins, for the names of one side.
//
// The root is the deepest common folder. A side that reads one folder less has a deeper one ("/data/train/"
// against "/data/"); AlignTo gives back as many folders as make the most names meet.
class DataRoot {
 public:
  // Folds one name in; all names first, then Relative.
  void Add(absl::string_view name);

  // The name without "./" and without the root.
  absl::string_view Relative(absl::string_view name) const;

  // Gives folders back to the root so that `sample` (names of this side) meets `others` best. How many
  // of the sample are then found.
  std::size_t AlignTo(const absl::flat_hash_set<absl::string_view>& others, absl::Span<const absl::string_view> sample);

 private:
  absl::string_view RelativeWith(absl::string_view name, std::size_t root_bytes) const;

  std::string root_;  // ends with '/', or is empty
  bool any_ = false;
};

// Dense numbers for names. The names must outlive it.
class NameInterner {
 public:
  std::uint32_t Intern(absl::string_view name);
  std::vector<absl::string_view> TakeNames() && { return std::move(names_); }

 private:
  absl::flat_hash_map<absl::string_view, std::uint32_t> ids_;
  std::vector<absl::string_view> names_;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_NAMES_H_
