// What the training scripts of one run say: the facts that its entry reaches, and how far they are all there is.
#ifndef PARITECT_CHECKS_SCRIPTS_FLOW_H_
#define PARITECT_CHECKS_SCRIPTS_FLOW_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/scripts/detail.h"
#include "paritect/v1/script.pb.h"

namespace paritect {

// The facts of one entry of a tree, in the order in which they would run. Borrows the tree, or holds one in which
// the run's configuration stands in the place of options.
class ScriptFlow {
 public:
  // Of a run: the scripts of its first node that has them (what differs between nodes is cluster.consistency's).
  static const ScriptFlow& Of(const CheckContext& context, const RunView& run);
  // Of one entry of a tree; "": what no entry reaches.
  static ScriptFlow OfEntry(const v1::ScriptTree& tree, const std::string& entry);

  bool named() const { return named_; }           // the plan names scripts
  bool read() const { return tree_ != nullptr; }  // and they could be read
  // The whole flow of the one script that trains is known: what no fact says is not there.
  bool whole() const { return whole_; }
  // Why it is not: "syntax error in a.py", ...; "" where it is.
  const std::string& why_not_whole() const { return why_not_whole_; }
  const std::string& framework() const { return framework_; }  // most facts'; ""
  const std::string& entry() const { return entry_; }

  const std::vector<const v1::ScriptFact*>& facts() const { return facts_; }
  std::vector<const v1::ScriptFact*> OfKind(absl::string_view kind) const;
  bool Has(absl::string_view kind) const;
  const v1::ScriptFact* FactAt(int number) const;
  // Its place in the order of the run.
  int NumberOf(const v1::ScriptFact& fact) const { return numbers_.at(&fact); }
  const v1::ScriptLoop* LoopAt(int number) const;
  const v1::ScriptTree* tree() const { return tree_; }

  // Whether the value of an argument is known, and no unknown command line may have changed it.
  bool Knows(const v1::ScriptArgument& argument) const;
  // Whether one of the facts that something is made of is of that kind.
  bool MadeOf(const v1::ScriptFact& fact, absl::string_view kind) const;

 private:
  void Take(const v1::ScriptTree& tree, const std::string& entry);

  const v1::ScriptTree* tree_ = nullptr;
  std::shared_ptr<const v1::ScriptTree> own_tree_;  // with the values of its options
  std::vector<const v1::ScriptFact*> facts_;
  std::map<const v1::ScriptFact*, int> numbers_;
  std::string entry_;
  std::string framework_;
  std::string why_not_whole_;
  bool named_ = false;
  bool whole_ = false;
};

// Says, where a run's scripts were named and do not tell everything, why: what needs the whole flow is not performed.
void ReportScriptNotWhole(const CheckContext& context, v1::CheckResult& result, const ScriptFlow& flow,
                          const std::string& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_FLOW_H_
