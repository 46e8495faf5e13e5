// Which losses make the loss of a step where no line names the whole: learnt from all records of a log, since a line
// that has lost one of its numbers looks like a line of another program.
//
// - A loss of unknown meaning ("nll_loss") is the loss where the log tells no other one.
// - Terms that programs sum without printing the sum (rules/metrics.h) make it together, where a record holds every
//   term that the log has told. A record that lacks one has no loss: a sum of fewer terms is another quantity.
// - Of several others none is the loss.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LOSS_PARTS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LOSS_PARTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/logs/machinery/step_values.h"

namespace paritect {

class LossParts {
 public:
  // Learns which parts the record holds; true where one is new, so that records before have to be settled again.
  bool Take(const StepValues& record);
  // Gives the record the loss that its parts make by what is known so far, or none.
  void Settle(StepValues& record) const;

  bool sums() const;
  // Names of the terms that are summed, as they are compared ("box_loss" of "train/box_loss"), in byte order.
  std::vector<std::string> terms() const;
  // Whether the record holds some of the terms and not all.
  bool LacksTerm(const StepValues& record) const;

 private:
  struct Names {
    std::set<std::string, std::less<>> terms;
    std::set<std::string, std::less<>> others;
    bool sums() const { return terms.size() > 1; }
  };
  const Names* NamesFor(const StepValues& record) const;

  std::map<std::int32_t, Names> of_engine_;  // each trains by a loss of its own
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LOSS_PARTS_H_
