// What a reader collects of one step before it becomes a v1::StepRecord: the same fields under the same names, in a
// struct that costs nothing to make, move and drop. A log has millions of lines, a message a line would take longer
// than reading it.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_STEP_VALUES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_STEP_VALUES_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/run_stats.pb.h"

namespace paritect {

// The name of a metric, shared by all records that have it.
using MetricName = std::shared_ptr<const std::string>;

// In the order in which they came; of one name the last stands.
class Metrics {
 public:
  using Entry = std::pair<MetricName, double>;

  void Set(absl::string_view name, double value) { Set(std::make_shared<const std::string>(name), value); }
  void Set(MetricName name, double value) { entries_.emplace_back(std::move(name), value); }
  const double* Find(absl::string_view name) const;
  // Adds what `from` has and this one lacks; false, changing nothing, where both have a name with different values.
  bool Fold(const Metrics& from);
  // Drops what has this value.
  void RemoveValue(double value) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.second == value; });
  }
  bool empty() const { return entries_.empty(); }
  void Reserve(std::size_t n) { entries_.reserve(n); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// Fields that may be absent, with their types: has_X(), X(), set_X(), clear_X() as of the message.
#define PARITECT_STEP_FIELDS(F) \
  F(0, double, epoch)           \
  F(1, double, loss)            \
  F(2, double, lr)              \
  F(3, double, grad_norm)       \
  F(4, double, loss_scale)      \
  F(5, std::int64_t, skipped)   \
  F(6, double, eval_loss)       \
  F(7, std::int64_t, samples)   \
  F(8, double, accuracy)        \
  F(9, double, loss_resolution) \
  F(10, std::int32_t, rank)     \
  F(11, std::int32_t, engine)   \
  F(12, bool, overflow)

class StepValues {
 public:
#define F(bit, type, name)                                           \
  bool has_##name() const {                                          \
    return (present_ >> (bit)&1) != 0;                               \
  }                                                                  \
  type name() const {                                                \
    return name##_;                                                  \
  }                                                                  \
  void set_##name(type value) {                                      \
    name##_ = value;                                                 \
    present_ = static_cast<std::uint16_t>(present_ | (1 << (bit)));  \
  }                                                                  \
  void clear_##name() {                                              \
    name##_ = {};                                                    \
    present_ = static_cast<std::uint16_t>(present_ & ~(1 << (bit))); \
  }
  PARITECT_STEP_FIELDS(F)
#undef F

  std::int64_t step() const {
    return step_;
  }
  void set_step(std::int64_t step) {
    step_ = step;
  }
  std::int64_t line() const {
    return line_;
  }
  void set_line(std::int64_t line) {
    line_ = line;
  }

  bool loss_absent() const {
    return loss_absent_;
  }
  void set_loss_absent(bool on) {
    loss_absent_ = on;
  }
  void clear_loss_absent() {
    loss_absent_ = false;
  }
  // The loss is one of its parts or their sum: no line named the whole (loss_parts.h).
  bool loss_of_parts() const {
    return loss_of_parts_;
  }
  void set_loss_of_parts(bool on) {
    loss_of_parts_ = on;
  }
  // The record tells no loss of a training step, whatever stood there.
  void drop_loss() {
    clear_loss();
    clear_loss_resolution();
    loss_absent_ = loss_of_parts_ = false;
  }
  bool step_unknown() const {
    return step_unknown_;
  }
  void set_step_unknown(bool on) {
    step_unknown_ = on;
  }
  bool overflow_applied() const {
    return overflow_applied_;
  }
  void set_overflow_applied(bool on) {
    overflow_applied_ = on;
  }
  bool accuracy_of_training() const {
    return accuracy_of_training_;
  }
  void set_accuracy_of_training(bool on) {
    accuracy_of_training_ = on;
  }
  void clear_accuracy_of_training() {
    accuracy_of_training_ = false;
  }

  bool accuracy_in_points() const {
    return accuracy_in_points_;
  }
  void set_accuracy_in_points(bool on) {
    accuracy_in_points_ = on;
  }

  const Metrics& metrics() const {
    return metrics_;
  }
  Metrics& mutable_metrics() {
    return metrics_;
  }

  // How many values are there.
  std::size_t count() const {
    return static_cast<std::size_t>(std::popcount(present_)) + metrics_.entries().size();
  }
  // Which of the fields above are there, as bits; whether a loss is among them does not matter, nor who wrote them.
  std::uint16_t fields_beside_loss() const {
    constexpr unsigned kLoss = 1U << 1 | 1U << 9;
    constexpr unsigned kWriter = 1U << 10 | 1U << 11;
    return static_cast<std::uint16_t>(present_ & ~(kLoss | kWriter));
  }
  // Nothing but what an evaluation gives.
  bool of_evaluation_alone() const {
    return (has_eval_loss() || (has_accuracy() && !accuracy_of_training_)) && !has_loss() && !loss_absent_ &&
           !has_lr() && !has_grad_norm() && !has_loss_scale() && !has_skipped() && !has_overflow();
  }

  void ToProto(v1::StepRecord& record) const;

 private:
#define F(bit, type, name) type name##_ = {};
  PARITECT_STEP_FIELDS(F)
#undef F
  std::uint16_t present_ = 0;
  bool loss_absent_ = false;
  bool loss_of_parts_ = false;
  bool step_unknown_ = false;
  bool overflow_applied_ = false;
  bool accuracy_of_training_ = false;
  bool accuracy_in_points_ = false;
  std::int64_t step_ = 0;
  std::int64_t line_ = 0;
  Metrics metrics_;
};

// Moves what `from` has and `into` lacks; false, changing nothing, where both have a field with different values.
bool FoldRecord(const StepValues& from, StepValues& into);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_STEP_VALUES_H_
