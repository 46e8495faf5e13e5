// `step N ... loss X`: the line that no framework owns. Used by itself (format "text") and inside dialects
// that print no loss of their own.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_PLAIN_LINES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_PLAIN_LINES_H_

#include "formats/logs/log_format.h"

namespace paritect {

// Whether the line has a step word with a number and a number after a word that ends in "loss".
bool IsPlainLossLine(absl::string_view line);

// The dialect of the format "text": such lines, the places below, and lines an epoch.
std::unique_ptr<LineDialect> MakePlainDialect();

// Reads one such line; false where it is none. A line that another writer's text was cut into is unparsed.
bool ReadPlainLine(const LogLine& line, RunLogBuilder& out);

// What a framework's own progress text says of the place: "Epoch: [3][ 10/270]", "Epoch [3][10/270]", "Train: 3 [
// 10/1000 (1%)]", "Epoch(train) [3][ 10/270]", "Epoch 1/200, Step 10/3995".
struct EpochPlace {
  absl::string_view epoch_text;
  absl::string_view step_text;
  absl::string_view total_text;
  std::int64_t epoch = 0;  // as printed
  std::int64_t step = 0;
  std::int64_t steps_per_epoch = 0;  // 0: not printed
  absl::string_view rest;            // what stands behind it
};
bool FindEpochPlace(absl::string_view line, EpochPlace& place);

// "[200/30000] Train loss: 0.004": the place stands at the front, without a word; "[0/25][10/1583]" is an epoch and a
// batch (`epoch_text` is empty where there is one bracket).
bool FindBracketPlace(absl::string_view line, EpochPlace& place);

// Reads the values of a line whose place is `place`; `first_epoch` is the number of the first epoch (0 or 1). `test`
// lines give evaluation values only.
void AddAtEpochPlace(const LogLine& line, const EpochPlace& place, std::int64_t first_epoch, RunLogBuilder& out);

// The same in two steps (line_form.h), for dialects whose usual lines are such lines.
bool CollectPlainLine(absl::string_view text, LineFields& fields);
bool EmitPlainLine(const LogLine& line, const LineFields& fields, RunLogBuilder& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_PLAIN_LINES_H_
