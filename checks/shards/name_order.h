// Orders in which loaders sort file names, without any locale of this machine: the order that a recorded
// list follows tells how the job sorted, wherever the audit runs.
#ifndef PARITECT_CHECKS_SHARDS_NAME_ORDER_H_
#define PARITECT_CHECKS_SHARDS_NAME_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// Bits: short lists follow several orders at once ("a1" < "a2" in all of them).
using NameOrders = std::uint32_t;
inline constexpr NameOrders kOrderByte = 1;     // memcmp: Python's sorted(), LC_ALL=C
inline constexpr NameOrders kOrderNatural = 2;  // runs of digits by value: natsort, ls -v
inline constexpr NameOrders kOrderLocale = 4;   // letters without case first, as sort and ls under en_US.UTF-8
inline constexpr NameOrders kOrderFolder = 8;   // folder by folder, each by bytes: a sorted walk
inline constexpr NameOrders kOrderAll = 15;

// Whether a stands before b in one order (one bit). Equal names do not.
bool NameBefore(NameOrders order, absl::string_view a, absl::string_view b);

// The orders of `candidates` in which the names increase strictly. Lists of one name or none follow all.
NameOrders FollowedOrders(absl::Span<const absl::string_view> names, NameOrders candidates = kOrderAll);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_NAME_ORDER_H_
