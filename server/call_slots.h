// How many calls of persons may be under way at once. Each holds a thread, and a watch holds it for hours: without a
// limit one viewer could take them all.
#ifndef PARITECT_SERVER_CALL_SLOTS_H_
#define PARITECT_SERVER_CALL_SLOTS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace paritect {

struct CallLimits {
  int of_one = 16;      // holder, whatever connections they come by
  int of_all = 192;     // but for admins
  int of_admins = 64;   // a lane of their own: who keeps order gets in when all else is taken
  int imports = 4;      // of all; each may hold a whole bundle in memory
};

// Thread-safe. Must outlive its slots.
class CallSlots {
 public:
  explicit CallSlots(CallLimits limits = {}) : limits_(limits) {}

  // Gives itself back.
  class Slot {
   public:
    Slot(CallSlots* slots, std::string actor, bool admin, bool import)
        : slots_(slots), actor_(std::move(actor)), admin_(admin), import_(import) {}
    Slot(Slot&& other) noexcept
        : slots_(other.slots_), actor_(std::move(other.actor_)), admin_(other.admin_), import_(other.import_) {
      other.slots_ = nullptr;
    }
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    CallSlots* slots_;
    std::string actor_;
    bool admin_;
    bool import_;
  };

  // `actor`: ROLE/NAME. ResourceExhausted, in words.
  absl::StatusOr<Slot> Take(const std::string& actor, bool admin, bool import);

 private:
  void GiveBack(const std::string& actor, bool admin, bool import);

  const CallLimits limits_;
  absl::Mutex mutex_;
  std::map<std::string, int> of_one_;
  int of_all_ = 0;
  int of_admins_ = 0;
  int imports_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_CALL_SLOTS_H_
