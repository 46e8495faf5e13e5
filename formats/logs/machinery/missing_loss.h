// Which records have lost their loss: those of a form whose records carry one.
//
// The form of a record is the set of its fields, loss aside; a record belongs to the form of records with a loss where
// it has their fields and no metric that they lack (without a rate, a norm or a scale: just their metrics), so that a
// line of an evaluation, of a throughput or of an epoch's end belongs to another. Of records of one form, five in a row
// with a loss say that they carry it: the next ones without have lost it, as have up to four before the first five. A
// loss that comes back and does not stay for five records again is printed now and then: nothing is missing.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_MISSING_LOSS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_MISSING_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "formats/logs/machinery/step_values.h"

namespace paritect {

class MissingLoss {
 public:
  using Writer = std::pair<std::int32_t, std::int32_t>;  // rank, engine

  // A record that stands at a place and at a line of the log: the record at the place may be another by then.
  struct Place {
    std::size_t at = 0;
    std::int64_t line = 0;
  };
  struct Change {
    std::vector<Place> lost;   // they have lost their loss as well
    std::vector<Place> found;  // they have not, after all
    bool any() const { return !lost.empty() || !found.empty(); }
  };

  // Looks at the next record, which will stand at `at`, and marks it where it has lost its loss. What it tells of
  // records before it is to be done by the caller.
  Change Look(const Writer& writer, std::size_t at, StepValues& record);

  // Places are no longer what they were.
  void Forget();

 private:
  struct Form {
    Writer writer;
    std::uint16_t fields = 0;
    std::vector<MetricName> metrics;  // of its records with a loss
    int row = 0;                      // records with a loss in a row, the last ones
    bool carries = false;             // five in a row were seen
    bool lost = false;                // `open` are marked
    std::vector<Place> open;          // without a loss: before the first row, or of the last stretch
  };

  Form* Find(const Writer& writer, const StepValues& record);
  static void WithLoss(Form& form, const StepValues& record, Change& change);
  static void WithoutLoss(Form& form, std::size_t at, StepValues& record, Change& change);

  std::vector<Form> forms_;
  std::size_t last_ = 0;  // the form found last
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_MISSING_LOSS_H_
