// What the record of one process tells of its updates: optimizers with their groups and schedules, steps with loss,
// rate and norm, the loss scale, gradients and updates, and whether gradients were cleared.
#ifndef PARITECT_FORMATS_OBSERVER_STEPS_PART_H_
#define PARITECT_FORMATS_OBSERVER_STEPS_PART_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/observer/model_part.h"
#include "formats/observer/record.h"
#include "formats/settings/builder.h"
#include "paritect/v1/run_stats.pb.h"
#include "paritect/v1/settings.pb.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

class StepsPart {
 public:
  // False: the record is of another part.
  bool Take(const ObservedRecord& record);

  bool stepped() const { return !steps_.empty(); }
  // The type of most of what the optimizer changes: fp32 beside weights of a short type are master copies. "": not
  // told.
  std::string TrainedType() const;

  // Settings by canonical name, and facts. `whole`: what the record does not show was not there (an engine clips and
  // scales by itself).
  void AddFacts(bool whole, SettingsBuilder& facts) const;
  // Groups of the optimizer that makes the most steps; without settings where none were recorded.
  v1::SettingsDocument Groups(absl::string_view label) const;
  v1::RunLog Log() const;
  // Gradients before a step and the change by it, by number of the step; of that optimizer.
  std::vector<v1::Weights> Changes() const;

 private:
  struct Step {
    std::int64_t line = 0;
    std::optional<double> lr, loss, scale, grad_norm;
    std::optional<std::int64_t> forwards, backwards, collectives;
    std::string clip_by;
    std::optional<double> clip_limit;
    std::map<std::int64_t, std::int64_t> schedules;  // id: step count
  };
  struct Scale {
    std::int64_t line = 0;
    double after = 0, before = 0;
    std::optional<bool> applied;
    std::int64_t at = 0;
  };
  struct Group {
    std::int64_t line = 0;
    std::vector<std::pair<std::string, std::string>> options;
    std::vector<std::string> names;                // of what it trains
    std::map<std::string, std::int64_t> elements;  // of that, by type
    ListProgress list;
  };
  struct Optimizer {
    std::int64_t line = 0;
    std::string class_name;
    bool of_framework = false;  // torch.optim's own: what clips for it is the framework's too
    std::map<std::int64_t, Group> groups;
  };
  struct Schedule {
    std::int64_t line = 0, optimizer = 0;
    std::string class_name;
  };
  struct Kept {
    std::int64_t line = 0, n = 0, looked = 0, kept = 0;
  };
  struct Change {
    v1::Weights weights;
    ListProgress grads, update;
  };

  void TakeStep(const ObservedRecord& record);
  void TakeScale(const ObservedRecord& record);
  void TakeGroup(const ObservedRecord& record);
  void TakeChange(const ObservedRecord& record, bool gradient);
  std::int64_t Main() const;  // the optimizer that makes the most steps; -1: none
  bool Cycles(std::int64_t optimizer) const;
  bool ConstantRate(std::int64_t optimizer) const;
  void AddOptimizer(SettingsBuilder& facts) const;
  void AddStepFacts(bool whole, SettingsBuilder& facts) const;
  void AddSchedules(SettingsBuilder& facts) const;
  void AddKept(SettingsBuilder& facts) const;
  void AddScales(v1::RunLog& log) const;

  std::map<std::int64_t, std::map<std::int64_t, Step>> steps_;  // optimizer, n
  std::vector<Scale> scales_;
  std::map<std::int64_t, Optimizer> optimizers_;
  std::map<std::int64_t, Schedule> schedules_;
  std::vector<Kept> kept_;
  std::map<std::pair<std::int64_t, std::int64_t>, Change> changes_;  // optimizer, n
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_STEPS_PART_H_
