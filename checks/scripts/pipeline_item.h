// One setting of the input pipeline, as a script states it.
#ifndef PARITECT_CHECKS_SCRIPTS_PIPELINE_ITEM_H_
#define PARITECT_CHECKS_SCRIPTS_PIPELINE_ITEM_H_

#include <string>

#include "paritect/v1/script.pb.h"

namespace paritect {

// One argument of one step of the pipeline.
struct PipelineItem {
  std::string step;   // "shuffle", "Normalize"
  std::string name;   // "buffer_size"
  std::string shown;  // "10000"
  std::string symbol;
  bool known = false;      // a constant, or derived from what both sides may share alone
  bool code = false;       // the project's own code: a function, a class
  bool by_option = false;  // an option's default, and the command line is not known
  const v1::ScriptFact* fact = nullptr;
  bool unordered = false;  // a list of steps whose order is not told
  int turn = 0;            // of the step: one that is passed twice stands twice
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_PIPELINE_ITEM_H_
