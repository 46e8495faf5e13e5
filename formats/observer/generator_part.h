// What the record of one process tells of its random generators: who seeded them, in which state training began,
// whether the process drew from them.
#ifndef PARITECT_FORMATS_OBSERVER_GENERATOR_PART_H_
#define PARITECT_FORMATS_OBSERVER_GENERATOR_PART_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/observer/record.h"
#include "formats/settings/builder.h"

namespace paritect {

class GeneratorPart {
 public:
  // False: the record is of another part.
  bool Take(const ObservedRecord& record);

  // torch's own seed as the setting; what is known of each generator under its name as scope ("random", "numpy").
  void AddFacts(SettingsBuilder& facts) const;

 private:
  struct Generator {
    std::string start, first;  // digests of its state: when the framework had come, at the first training forward
    bool watched = false;      // calls that seed it were seen, if there were any
    bool seeded = false;
    std::string value, where;  // of the last call that set it
    bool drawn = false;        // in the first steps
  };
  struct OwnGenerator {
    std::int64_t line = 0;
    std::string call, where;
  };

  void TakeSeeds(const ObservedRecord& record);
  void TakeDrawn(const ObservedRecord& record);

  std::map<std::string, Generator> generators_;
  std::vector<OwnGenerator> unseeded_;  // generators of the program's own that were made without a seed
  std::string seed_;
  std::int64_t line_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_GENERATOR_PART_H_
