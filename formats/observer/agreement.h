// Whether the parts of one process's record agree. What cannot be true at once is a contradiction: its kind names the
// part of the record that it takes away (rules/data/contradictions.yaml). What may come about in a healthy run is none:
// records that were lost, totals of what was thinned out, types that a library changes.
#ifndef PARITECT_FORMATS_OBSERVER_AGREEMENT_H_
#define PARITECT_FORMATS_OBSERVER_AGREEMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/observer/record.h"

namespace paritect {

struct Contradiction {
  std::string kind;   // a key of contradictions.yaml
  std::string told;   // what one place says
  std::string other;  // what the other says
  std::int64_t line = 0;
};

class Agreement {
 public:
  void Take(const ObservedRecord& record);

  // `whole`: nothing that happened is missing from the record. The first of each kind, in order of lines.
  std::vector<Contradiction> Finish(bool whole) const;

 private:
  struct Cast {
    std::int64_t line = 0, elements = 0;
    std::string dtype, class_name;
  };
  struct Root {
    std::string class_name, inner_class;
    std::int64_t elements = 0, parameters_line = 0;
    std::set<std::string> types;  // of what is trained
    bool parameters_whole = false;
  };

  void TakeCounts(const ObservedRecord& record, const std::string& kind);
  void TakeStep(const ObservedRecord& record);
  void TakeScale(const ObservedRecord& record);
  void TakeEnd(const ObservedRecord& record);
  void TakeIndices(const ObservedRecord& record);
  void CompareDigests(const ObservedRecord& record, std::int64_t requested);
  void TakeList(const ObservedRecord& record, const std::string& kind);
  void TakeSeed(const ObservedRecord& record, const std::string& kind);
  void TakeRoot(const ObservedRecord& record, const std::string& kind);
  void TakeLoad(const ObservedRecord& record);
  void TakeOrder(const ObservedRecord& record, const std::string& kind);
  void CompareCasts(std::vector<Contradiction>& found) const;
  void Contradict(const char* kind, std::string told, std::string other, std::int64_t line);
  void ContradictIfMore(const char* kind, absl::string_view name, std::int64_t count, absl::string_view of,
                        std::int64_t most, std::int64_t line);

  std::map<std::string, Contradiction> found_;  // the first of each kind
  bool ended_ = false;
  std::int64_t end_line_ = 0;
  std::optional<std::int64_t> steps_told_, skips_told_;
  std::map<std::int64_t, std::int64_t> steps_;                             // highest number by optimizer
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> updates_;  // the same by scaler and optimizer
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> passes_;   // by loader and kind of record
  std::set<std::int64_t> disabled_;                                        // scalers
  std::int64_t skips_ = 0;
  std::map<std::int64_t, std::int64_t> batch_sizes_;  // by loader
  std::map<std::string, std::int64_t> lists_;         // so many elements came
  std::set<std::string> seeds_;
  std::int64_t seed_calls_ = 0;
  std::vector<Cast> casts_;
  std::map<std::int64_t, Root> roots_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_AGREEMENT_H_
