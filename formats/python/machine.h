// The state of a reading: a project's modules, what their names stand for at this point of the run, and the facts found
// so far. A script is walked as it would run, with values known only in part (formats/python/values.h): functions of
// the project are entered where they are called, loops once, both branches of a condition that is not known. Nothing is
// executed; the number of steps is bounded.
//
// The rules of the language stand in the units beside this one (expressions, statements, calls, ...), each of which
// sees the others through the virtual functions here.
#ifndef PARITECT_FORMATS_PYTHON_MACHINE_H_
#define PARITECT_FORMATS_PYTHON_MACHINE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "formats/python/names.h"
#include "formats/python/syntax.h"
#include "formats/python/values.h"
#include "rules/script_rules.h"

namespace paritect {

struct ScriptModule {
  std::string path;  // below the root
  SyntaxTree tree;
  int scope = -1;  // its names, once it was begun
  bool reached = false;
  std::vector<std::string> star_imports;  // packages whose names it takes over, not of the project
  std::string sha256;                     // of the text
  std::string code_sha256;                // without comments and blanks
};

struct CallArgument {
  std::string name;  // "" where given by position
  ValueId value = kNoValue;
  NodeId node = kNoNode;  // its expression, in the caller's module
  bool splat = false;     // *values or **values
};

struct FactArgument {
  std::string name;
  std::string text;
  ValueId value = kNoValue;
  bool is_default = false;
};

struct MachineFact {
  std::string kind;
  std::string name;
  std::string framework;
  std::string layer;
  std::string function;
  std::string target;
  std::string mode;
  int module = 0;
  std::uint32_t line = 0;
  std::vector<FactArgument> arguments;
  std::vector<std::int32_t> made_of;
  std::vector<std::int32_t> loops;
  std::vector<std::int32_t> contexts;
  std::vector<std::int32_t> unsorted;
  bool conditional = false;
  bool called = true;
  std::int32_t object = -1;  // fact of the object it acts upon
  int entry = -1;            // module
};

struct MachineLoop {
  std::string over;
  std::vector<std::int32_t> made_of;
  int module = 0;
  std::uint32_t line = 0;
  std::size_t first_fact = 0;  // that may stand in it
  std::size_t first_code = 0;
};

// A statement that does more than facts tell (formats/python/untold.h).
struct MachineCode {
  std::string text;   // plain, with the constants in the place of their names
  std::string place;  // what stands around it
  std::string function;
  int module = 0;
  std::uint32_t line = 0;
  std::vector<std::int32_t> loops;
  std::vector<std::int32_t> contexts;
  std::string package;      // that no one knows, called with what is trained or with samples
  bool of_network = false;  // in what a network computes, or how it is made
  bool conditional = false;
  std::int32_t behind = -1;  // the fact before it
  int times = 1;
  int entry = -1;
};

// Why the facts are not all there is, or not as written: code that is made as it runs, a package's function replaced.
struct MachineDoubt {
  std::string kind;  // of the note: "script_exec", "script_patched", "module_absent"
  std::string what;
  int module = 0;
  std::uint32_t line = 0;
};

// A condition that is not known, and which of its branches is walked.
struct OpenCondition {
  int module = 0;
  NodeId statement = kNoNode;
  std::size_t branch = 0;
};

// How a block ended.
enum class Flow { kOn, kReturn, kLoop, kRaise };  // kLoop: break or continue

struct Frame {
  int module = 0;
  int scope = 0;
  std::string function;  // "Net.forward"
  ValueId self = kNoValue;
  ValueId own_class = kNoValue;  // whose body the function stands in
  int loops = 0;                 // of its own around the statement
  std::vector<ValueId> returned;
  std::vector<ValueId> yielded;
  const std::function<void(ValueId)>* at_yield = nullptr;  // of a context manager: runs the `with` block
};

// The number of a name of the source.
using NameId = std::int32_t;

class ScriptMachine {
 public:
  ScriptMachine(const ScriptRules& known, std::vector<ScriptModule>& modules);
  virtual ~ScriptMachine() = default;
  ScriptMachine(const ScriptMachine&) = delete;
  ScriptMachine& operator=(const ScriptMachine&) = delete;

  // --- the language, each in a unit of its own
  virtual ValueId Evaluate(NodeId expression) = 0;
  virtual Flow Execute(NodeId block) = 0;
  virtual void Assign(NodeId target, ValueId value) = 0;
  // `node`: the call, for its place; `arguments` are evaluated.
  virtual ValueId Call(ValueId callee, const std::vector<CallArgument>& arguments, NodeId node) = 0;
  virtual ValueId Attribute(ValueId object, absl::string_view name) = 0;
  virtual ValueId ImportModule(int module) = 0;

  // --- names
  int NewScope(int parent, int module);
  ValueId Look(absl::string_view name) const;  // from the frame's scope outwards; kNoValue
  ValueId LookIn(int scope, absl::string_view name) const;
  ValueId LookFrom(int scope, absl::string_view name) const;  // from that scope outwards
  void Set(int scope, absl::string_view name, ValueId value);
  // The names of one scope, sorted.
  std::vector<std::pair<std::string, ValueId>> NamesOf(int scope) const;
  void SetField(ValueId object, absl::string_view name, ValueId value);
  void DeclareOuter(absl::string_view name);  // global, nonlocal
  // Gives an object what a field of it holds without being set, so that a branch that sets it is held against that.
  void AddField(ValueId object, absl::string_view name, ValueId value);
  // Sets a name of the frame's function, or of an outer one where it was declared so.
  void SetLocal(absl::string_view name, ValueId value);
  // What a name stood for before what changed since the mark.
  ValueId LookBefore(std::size_t mark, absl::string_view name) const;

  // --- branches: what they change is recorded, undone and joined
  std::size_t Mark() const { return changes_.size(); }
  // Where a value is kept. Every assignment is one: names are numbers here, so that places are cheap to hold and
  // compare.
  struct Place {
    int scope = -1;  // else a field of `object`
    ValueId object = kNoValue;
    NameId name = -1;

    bool operator==(const Place&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Place& place) {
      return H::combine(std::move(h), place.scope, place.object, place.name);
    }
  };
  struct Change {
    Place place;
    ValueId before = kNoValue;
  };
  using Outcome = std::vector<std::pair<Place, ValueId>>;  // value at the end, the last change first
  // What changed since the mark; undoes it.
  Outcome Undo(std::size_t mark);
  void Apply(const Outcome& outcome);
  // As if either had happened.
  void Join(const Outcome& one, const Outcome& other);
  ValueId JoinValues(ValueId a, ValueId b);

  // --- facts
  int AddFact(MachineFact fact, NodeId node);
  std::vector<MachineFact>& facts() { return facts_; }
  const std::vector<MachineFact>& facts() const { return facts_; }
  std::vector<MachineLoop>& loops() { return loops_; }
  const std::vector<MachineCode>& codes() const { return codes_; }
  // The same code at the same place is counted; what is too much is told as one.
  void AddCode(MachineCode code, NodeId node);
  int OpenLoop(ValueId over, NodeId node);
  void CloseLoop();
  std::size_t open_loop_count() const { return open_loops_.size(); }
  int innermost_loop() const { return open_loops_.empty() ? -1 : open_loops_.back(); }

  // What a full name of a package stands for: itself, or what the script put in its place.
  ValueId PackageName(absl::string_view full_name);
  // `torch.nn.ReLU = GELU`: followed where it is plain, else told as a doubt.
  void Replace(absl::string_view full_name, ValueId value, NodeId node);
  void Doubt(absl::string_view kind, absl::string_view what, NodeId node);
  const std::vector<MachineDoubt>& doubts() const { return doubts_; }
  void ForgetReplaced() { replaced_.clear(); }

  // What the text of a definition tells, made when it is asked for first: definitions are met again and again.
  struct DefinitionText {
    std::string code_mark;   // of its code as written
    std::string plain_mark;  // of its plain code
    std::unique_ptr<const Names> names;
  };
  DefinitionText& TextOfDefinition(int module, NodeId definition) {
    return definitions_[(static_cast<std::uint64_t>(module) << 32) | definition];
  }

  // The value of a literal, made when it is met first: constants are shared.
  ValueId Once(NodeId literal, absl::FunctionRef<ValueId()> make);

  // --- where the walk stands
  Frame& frame() { return frames_.back(); }
  const Frame& frame() const { return frames_.back(); }
  const SyntaxTree& tree() const { return modules_[static_cast<std::size_t>(frame().module)].tree; }
  ScriptModule& module(int number) { return modules_[static_cast<std::size_t>(number)]; }
  const ScriptModule& module(int number) const { return modules_[static_cast<std::size_t>(number)]; }
  std::size_t module_count() const { return modules_.size(); }
  std::vector<Frame>& frames() { return frames_; }
  bool Step();  // false: the budget is spent, give up
  bool spent() const { return steps_ == 0; }
  void Refill(std::int64_t steps) { steps_ = steps; }
  std::int64_t steps_left() const { return steps_; }
  // Facts and values grow no further.
  bool full() const;
  std::set<std::pair<int, NodeId>>& entered() { return entered_; }
  std::vector<int>& contexts() { return contexts_; }

  ValueStore values;
  const ScriptRules& rules;
  std::vector<std::string> paths;  // of the modules, in their order, sorted
  std::set<std::string, std::less<>> packages;  // that were imported and are no part of the project
  // The command line of the run, where it is known: option, value as written.
  std::map<std::string, std::string, std::less<>> command_line;
  bool command_line_known = false;
  int conditional = 0;  // conditions around that are not known
  int depth = 0;        // of expressions and calls
  bool called = true;
  bool mute = false;    // calls make no facts: they were seen before
  int codes_alone = 0;  // mute, but for what no fact tells
  int entry = -1;
  std::string target;  // name that the expression's value will get
  int forward_depth = 0;
  std::vector<ValueId> networks;  // of the project, in the order in which they are made
  int untold = 0;        // what the statement at hand does that no fact tells
  std::string stranger;  // a package in it that no one knows
  std::vector<OpenCondition> around;  // that are not known, within the frame's function
  int optional = 0;            // `try` blocks around whose failing import is provided for
  std::vector<ValueId> every;  // counts of conditions around like `step % 4 == 0`
  ValueId flags = kNoValue;    // options that DEFINE_string and its like made
  std::set<std::string, std::less<>> settings_files;  // that options are read from, as they are named
  bool settings_file_untold = false;                  // options are read from one that is not named
  const std::function<void(ValueId)>* next_at_yield = nullptr;  // for the function that is entered next

 private:
  struct Scope {
    int parent = -1;
    int module = 0;
    absl::flat_hash_map<NameId, ValueId> names;
    std::set<std::string, std::less<>> outer;
  };

  NameId NumberOf(absl::string_view name);
  NameId FindNumber(absl::string_view name) const;  // -1: no place has that name
  ValueId LookIn(int scope, NameId name) const;
  ValueId Now(const Place& place) const;
  void SetPlace(const Place& place, ValueId value);

  std::vector<ScriptModule>& modules_;
  absl::flat_hash_map<std::string, NameId> name_numbers_;
  std::vector<std::string> names_;  // by number
  std::vector<Scope> scopes_;
  std::vector<Frame> frames_;
  std::vector<Change> changes_;
  std::vector<MachineFact> facts_;
  std::vector<MachineLoop> loops_;
  std::vector<MachineCode> codes_;
  absl::flat_hash_map<std::string, std::size_t> code_places_;
  std::vector<int> open_loops_;
  std::vector<int> contexts_;
  absl::flat_hash_map<std::uint64_t, ValueId> literals_;  // by module and node
  absl::node_hash_map<std::uint64_t, DefinitionText> definitions_;
  std::set<std::pair<int, NodeId>> entered_;              // functions whose bodies were walked
  std::map<std::string, ValueId, std::less<>> replaced_;  // names of packages
  std::vector<MachineDoubt> doubts_;
  std::int64_t steps_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_MACHINE_H_
