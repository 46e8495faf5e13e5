// What would open most: the pieces of evidence that would decide the most of the checks that were not performed.
#ifndef PARITECT_CHECKS_EXPLAINING_OPENINGS_H_
#define PARITECT_CHECKS_EXPLAINING_OPENINGS_H_

#include <string>
#include <vector>

#include "paritect/v1/report.pb.h"
#include "rules/messages.h"
#include "rules/openings.h"

namespace paritect {

// One step and the checks that it decides once the steps before it in the list are taken: they lack nothing else.
struct OpenedChecks {
  std::string id;   // of the opening; "" for a remedy that no opening names
  v1::Text action;  // what to do
  std::vector<const v1::CheckResult*> checks;
  int required = 0;  // of `checks`
};

// The steps that decide at least one check, each time the one that decides the most (then the most required ones) of
// what is still open. What nobody can bring is left out, and so are checks that a person answered. Works on a stored
// report too: a text is traced back to its message. Borrows from the report.
std::vector<OpenedChecks> WhatOpensMost(const Messages& messages, const std::vector<Opening>& openings,
                                        const v1::Report& report);

}  // namespace paritect

#endif  // PARITECT_CHECKS_EXPLAINING_OPENINGS_H_
