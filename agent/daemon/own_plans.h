// The plans that a node runs by itself: when each is due.
#ifndef PARITECT_AGENT_DAEMON_OWN_PLANS_H_
#define PARITECT_AGENT_DAEMON_OWN_PLANS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "agent/daemon/agent_config.h"

namespace paritect {

class OwnPlans {
 public:
  // Plans that were there before keep their time, new ones are due at once.
  void Set(const std::vector<OwnPlan>& plans, std::int64_t now_ms) {
    std::vector<Entry> entries;
    for (const OwnPlan& plan : plans) {
      Entry entry = {plan, now_ms};
      for (const Entry& old : entries_) {
        if (old.plan == plan) entry.due_ms = old.due_ms;
      }
      entries.push_back(entry);
    }
    entries_ = std::move(entries);
  }

  // Paths of those that are due now; each is due again after its time, or never. What was missed is not made up for.
  std::vector<std::string> TakeDue(std::int64_t now_ms) {
    std::vector<std::string> due;
    for (Entry& entry : entries_) {
      if (now_ms < entry.due_ms) continue;
      due.push_back(entry.plan.path);
      entry.due_ms = entry.plan.every_seconds == 0 ? kNever : now_ms + entry.plan.every_seconds * 1000;
    }
    return due;
  }

  std::int64_t next_due_ms() const {
    std::int64_t next = kNever;
    for (const Entry& entry : entries_) next = std::min(next, entry.due_ms);
    return next;
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

 private:
  struct Entry {
    OwnPlan plan;
    std::int64_t due_ms = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_OWN_PLANS_H_
