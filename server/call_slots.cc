#include "server/call_slots.h"

#include "absl/strings/str_cat.h"

namespace paritect {

CallSlots::Slot::~Slot() {
  if (slots_ != nullptr) slots_->GiveBack(actor_, admin_, import_);
}

absl::StatusOr<CallSlots::Slot> CallSlots::Take(const std::string& actor, bool admin, bool import) {
  absl::MutexLock lock(&mutex_);
  const auto known = of_one_.find(actor);
  if (known != of_one_.end() && known->second >= limits_.of_one) {
    return absl::ResourceExhaustedError(
        absl::StrCat(actor, " has ", known->second, " calls under way; at most ", limits_.of_one, " at once"));
  }
  int& lane = admin ? of_admins_ : of_all_;
  const int lane_max = admin ? limits_.of_admins : limits_.of_all;
  if (lane >= lane_max) {
    return absl::ResourceExhaustedError(absl::StrCat("the server answers ", lane, " calls at once; try again"));
  }
  if (import && imports_ >= limits_.imports) {
    return absl::ResourceExhaustedError(absl::StrCat(imports_, " imports are under way; try again when one is done"));
  }
  ++of_one_[actor];
  ++lane;
  if (import) ++imports_;
  return Slot(this, actor, admin, import);
}

void CallSlots::GiveBack(const std::string& actor, bool admin, bool import) {
  absl::MutexLock lock(&mutex_);
  const auto known = of_one_.find(actor);
  if (--known->second == 0) of_one_.erase(known);
  --(admin ? of_admins_ : of_all_);
  if (import) --imports_;
}

}  // namespace paritect
