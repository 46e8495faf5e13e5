#include "formats/python/statements.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/attributes.h"
#include "formats/python/closures.h"
#include "formats/python/command_lines.h"
#include "formats/python/contexts.h"
#include "formats/python/every.h"
#include "formats/python/imports.h"
#include "formats/python/lookups.h"
#include "formats/python/orders.h"
#include "formats/python/plain_code.h"
#include "formats/python/untold.h"

namespace paritect {
namespace {

constexpr int kStatementDepthMax = 500;

class Statements {
 public:
  explicit Statements(ScriptMachine& machine) : m_(machine) {}

  // NOLINTNEXTLINE(misc-no-recursion): kStatementDepthMax bounds it
  Flow Run(NodeId node) {
    if (!m_.Step() || m_.depth > kStatementDepthMax) return Flow::kOn;
    ++m_.depth;
    const int outer = std::exchange(m_.untold, 0);
    std::string stranger = std::exchange(m_.stranger, "");
    const std::size_t mark = m_.Mark();
    const Flow flow = One(node);
    if (m_.untold > 0) NoteUntold(m_, node, mark);
    m_.untold = outer;
    m_.stranger = std::move(stranger);
    --m_.depth;
    return flow;
  }

 private:
  const SyntaxTree& tree() const { return m_.tree(); }

  // NOLINTNEXTLINE(misc-no-recursion)
  Flow One(NodeId node) {
    switch (tree()[node].kind) {
      case Syntax::kBlock:
      case Syntax::kModule: return m_.Execute(node);
      case Syntax::kExpressionStatement: return Expressions(node);
      case Syntax::kAssignment: Assignment(node); return Flow::kOn;
      case Syntax::kAugmentedAssignment: Augmented(node); return Flow::kOn;
      case Syntax::kIf: return If(node);
      case Syntax::kFor: return For(node);
      case Syntax::kWhile: return While(node);
      case Syntax::kWith: return With(node);
      case Syntax::kTry: return Try(node);
      case Syntax::kFunction: Define(node, {}); return Flow::kOn;
      case Syntax::kClass: DefineClass(node); return Flow::kOn;
      case Syntax::kDecorated: Decorated(node); return Flow::kOn;
      case Syntax::kReturn: {
        const NodeId expression = tree()[node].first;
        const ValueId value = expression == kNoNode ? m_.values.None() : m_.Evaluate(expression);
        if (m_.frame().returned.size() < 64) m_.frame().returned.push_back(value);
        if (!m_.around.empty() || m_.frame().loops > 0) ++m_.untold;
        return Flow::kReturn;
      }
      case Syntax::kRaise: Children(node); return Flow::kRaise;
      case Syntax::kBreak:
      case Syntax::kContinue: ++m_.untold; return Flow::kLoop;
      case Syntax::kImport:
      case Syntax::kImportFrom: ExecuteImport(m_, node); return Flow::kOn;
      case Syntax::kGlobal:
        for (NodeId child = tree()[node].first; child != kNoNode; child = tree()[child].next) {
          m_.DeclareOuter(tree().TextOf(child));
        }
        return Flow::kOn;
      case Syntax::kDelete: return Flow::kOn;
      default: Children(node); return Flow::kOn;
    }
  }

  // A part that is not understood: what stands in it may be statements or expressions.
  // NOLINTNEXTLINE(misc-no-recursion)
  void Children(NodeId node) {
    ++m_.conditional;
    for (NodeId child = tree()[node].first; child != kNoNode; child = tree()[child].next) {
      const Syntax kind = tree()[child].kind;
      const bool expression = kind >= Syntax::kCall && kind <= Syntax::kExpressionList;
      if (expression) {
        m_.Evaluate(child);
      } else if (kind != Syntax::kOperator) {
        Run(child);
      }
    }
    --m_.conditional;
  }

  Flow Expressions(NodeId node) {
    for (NodeId child = tree()[node].first; child != kNoNode; child = tree()[child].next) {
      const Syntax kind = tree()[child].kind;
      if (kind == Syntax::kAssignment) {
        Assignment(child);
      } else if (kind == Syntax::kAugmentedAssignment) {
        Augmented(child);
      } else {
        m_.Evaluate(child);
      }
    }
    return Flow::kOn;
  }

  // a = b = value
  void Assignment(NodeId node) {
    std::vector<NodeId> targets;
    NodeId right = node;
    while (right != kNoNode && tree()[right].kind == Syntax::kAssignment && targets.size() < 64) {
      targets.push_back(tree().Child(right, Part::kLeft));
      right = tree().Child(right, Part::kRight);
    }
    if (right == kNoNode || targets.empty() || targets[0] == kNoNode) return;
    m_.target = std::string(tree().TextOf(targets[0]).substr(0, 80));
    const ValueId value = m_.Evaluate(right);
    m_.target.clear();
    for (NodeId target : targets) {
      if (target != kNoNode) m_.Assign(target, value);
    }
  }

  void Augmented(NodeId node) {
    const NodeId left = tree().Child(node, Part::kLeft);
    const NodeId right = tree().Child(node, Part::kRight);
    if (left == kNoNode || right == kNoNode) return;
    const ValueId before = m_.Evaluate(left);
    const ValueId added = m_.Evaluate(right);
    if (m_.values[before].kind == ValueKind::kSequence) {  // in place
      const std::vector<ValueId> items = m_.values[added].items;
      const bool told = m_.values[added].kind == ValueKind::kSequence && m_.values[added].symbol.empty() &&
                        m_.conditional == 0 && m_.innermost_loop() < 0;
      ScriptValue& list = m_.values[before];
      list.items.insert(list.items.end(), items.begin(), items.end());
      if (!told || !list.symbol.empty())
        list.symbol = absl::StrCat("list(", m_.values.SymbolOf(before), " + ", m_.values.SymbolOf(added), ")");
      m_.values.Derive(m_.values[before], added);
      return;
    }
    ++m_.untold;
    m_.Assign(left, Derived(m_, absl::StrCat("?", tree().TextOf(left)), {before, added}));
  }

  // --- branches

  struct Branch {
    NodeId condition = kNoNode;  // none: else
    NodeId body = kNoNode;
    NodeId statement = kNoNode;
  };

  Flow If(NodeId node) {
    std::vector<Branch> branches = {
        {tree().Child(node, Part::kCondition), tree().Child(node, Part::kConsequence), node}};
    for (NodeId child = tree()[node].first; child != kNoNode; child = tree()[child].next) {
      if (tree()[child].kind == Syntax::kElif) {
        branches.push_back({tree().Child(child, Part::kCondition), tree().Child(child, Part::kConsequence), node});
      } else if (tree()[child].kind == Syntax::kElse) {
        branches.push_back({kNoNode, tree().Child(child, Part::kBody), node});
      }
    }
    const Flow flow = Branches(branches, 0);
    if (std::all_of(branches.begin(), branches.end(),
                    [&](const Branch& one) { return one.body == kNoNode || OnlyShows(tree(), one.body); }))
      m_.untold = 0;
    return flow;
  }

  // NOLINTNEXTLINE(misc-no-recursion): m_.depth bounds it
  Flow Branches(const std::vector<Branch>& branches, std::size_t number) {
    if (number >= branches.size() || m_.depth > kStatementDepthMax) return Flow::kOn;
    const Branch& branch = branches[number];
    if (branch.condition == kNoNode) return Body(branch.body);
    const ValueId condition = m_.Evaluate(branch.condition);
    const auto truth = TruthOf(m_, condition);
    if (truth.has_value()) {
      if (!*truth) ++m_.depth;
      const Flow flow = *truth ? Body(branch.body) : Branches(branches, number + 1);
      if (!*truth) --m_.depth;
      return flow;
    }
    const auto every = EveryOf(m_, condition);
    ++m_.untold;
    m_.around.push_back({m_.frame().module, branch.statement, number});
    std::size_t mark = m_.Mark();
    ++m_.conditional;
    const Flow first = Every(every, true, [&] { return Body(branch.body); });
    const ScriptMachine::Outcome one = m_.Undo(mark);
    m_.around.back().branch = branches.size();
    mark = m_.Mark();
    ++m_.depth;
    const Flow second = Every(every, false, [&] { return Branches(branches, number + 1); });
    --m_.depth;
    --m_.conditional;
    m_.around.pop_back();
    const ScriptMachine::Outcome other = m_.Undo(mark);
    // `if step % 4 != 0: continue`: the rest of the round is what happens once in four.
    if (every && !every->holds && first != Flow::kOn && second == Flow::kOn) m_.every.push_back(every->count);
    return Merge(one, first, other, second);
  }

  template <typename Run>
  Flow Every(const std::optional<EveryFew>& every, bool branch, Run run) {
    const std::size_t before = m_.every.size();
    if (every && every->holds == branch) m_.every.push_back(every->count);
    const Flow flow = run();
    m_.every.resize(std::min(before, m_.every.size()));
    return flow;
  }

  Flow Merge(const ScriptMachine::Outcome& one, Flow first, const ScriptMachine::Outcome& other, Flow second) {
    if (first != Flow::kOn && second == Flow::kOn) {
      m_.Apply(other);
      return Flow::kOn;
    }
    if (first == Flow::kOn && second != Flow::kOn) {
      m_.Apply(one);
      return Flow::kOn;
    }
    m_.Join(one, other);
    return first == second ? first : (first == Flow::kOn ? second : first);
  }

  Flow Body(NodeId body) { return body == kNoNode ? Flow::kOn : m_.Execute(body); }

  Flow Else(NodeId node) {
    const NodeId other = tree().ChildOf(node, Syntax::kElse);
    return other == kNoNode ? Flow::kOn : Body(tree().Child(other, Part::kBody));
  }

  // --- loops: walked once, or once for each item of a short list

  Flow For(NodeId node) {
    const NodeId left = tree().Child(node, Part::kLeft);
    const NodeId right = tree().Child(node, Part::kRight);
    const NodeId body = tree().Child(node, Part::kBody);
    if (left == kNoNode || right == kNoNode) return Flow::kOn;
    const ValueId over = m_.Evaluate(right);
    std::vector<ValueId> items = UnrolledItems(m_, over);
    if (items.empty()) items.push_back(ElementOf(m_, over));
    const std::size_t every = m_.every.size();
    for (ValueId item : items) {
      m_.OpenLoop(over, node);
      m_.Assign(left, item);
      ++m_.frame().loops;
      Body(body);
      --m_.frame().loops;
      m_.CloseLoop();
      m_.every.resize(std::min(every, m_.every.size()));
    }
    return Else(node);
  }

  Flow While(NodeId node) {
    const NodeId condition = tree().Child(node, Part::kCondition);
    const ValueId value = condition == kNoNode ? m_.values.Unknown() : m_.Evaluate(condition);
    const auto truth = TruthOf(m_, value);
    if (truth.has_value() && !*truth) return Else(node);
    const std::size_t every = m_.every.size();
    if (!truth.has_value()) ++m_.untold;
    m_.OpenLoop(kNoValue, node);
    ++m_.frame().loops;
    Body(tree().Child(node, Part::kBody));
    --m_.frame().loops;
    m_.CloseLoop();
    m_.every.resize(std::min(every, m_.every.size()));
    return Else(node);
  }

  // --- with

  Flow With(NodeId node) {
    std::vector<NodeId> managers;
    if (const NodeId clause = tree().ChildOf(node, Syntax::kWithClause); clause != kNoNode) {
      for (NodeId item = tree()[clause].first; item != kNoNode; item = tree()[item].next) {
        const NodeId value = tree()[item].kind == Syntax::kWithItem ? tree().Child(item, Part::kValue) : kNoNode;
        if (value == kNoNode) continue;
        // Several in one pair of brackets come as a tuple.
        if (tree()[value].kind != Syntax::kTuple) {
          managers.push_back(value);
          continue;
        }
        for (NodeId one = tree()[value].first; one != kNoNode; one = tree()[one].next) managers.push_back(one);
      }
    }
    return Within(managers, 0, tree().Child(node, Part::kBody));
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as one statement has managers, which m_.depth bounds
  Flow Within(const std::vector<NodeId>& managers, std::size_t number, NodeId body) {
    if (number >= managers.size() || m_.depth > kStatementDepthMax) return Body(body);
    NodeId expression = managers[number];
    NodeId alias = kNoNode;
    if (tree()[expression].kind == Syntax::kAsPattern) {
      alias = tree().Child(expression, Part::kAlias);
      expression = tree()[expression].first;
    }
    const ValueId manager = m_.Evaluate(expression);
    ++m_.depth;
    const Flow flow = RunWithin(m_, manager, alias, [&] { return Within(managers, number + 1, body); });
    --m_.depth;
    return flow;
  }

  // --- try

  Flow Try(NodeId node) {
    const bool provided = tree().ChildOf(node, Syntax::kExcept) != kNoNode;
    m_.optional += provided ? 1 : 0;
    const Flow flow = Body(tree().Child(node, Part::kBody));
    m_.optional -= provided ? 1 : 0;
    bool goes_on = false;
    for (NodeId child = tree()[node].first; child != kNoNode; child = tree()[child].next) {
      const Syntax kind = tree()[child].kind;
      if (kind == Syntax::kExcept) {
        const std::size_t mark = m_.Mark();
        ++m_.conditional;
        const NodeId body = tree().ChildOf(child, Syntax::kBlock);
        const Flow handler = Body(body);
        --m_.conditional;
        const ScriptMachine::Outcome outcome = m_.Undo(mark);
        // What the body set counts before what a handler sets.
        if (handler == Flow::kOn) m_.Join({}, outcome);
        goes_on = goes_on || handler == Flow::kOn;
      } else if (kind == Syntax::kElse) {
        Body(tree().Child(child, Part::kBody));
      } else if (kind == Syntax::kFinally) {
        Body(tree().ChildOf(child, Syntax::kBlock));
      }
    }
    return goes_on ? Flow::kOn : flow;
  }

  // --- definitions

  void Define(NodeId node, const std::vector<NodeId>& decorators) {
    const NodeId name = tree().Child(node, Part::kName);
    if (name == kNoNode) return;
    ScriptValue function;
    function.kind = ValueKind::kFunction;
    function.module = m_.frame().module;
    function.node = node;
    function.scope = m_.frame().scope;
    if (m_.frame().own_class != kNoValue) function.items = {m_.frame().own_class};
    std::string& mark = m_.TextOfDefinition(function.module, node).code_mark;
    if (mark.empty()) {
      const NodeId parameters = tree().Child(node, Part::kParameters);
      const NodeId body = tree().Child(node, Part::kBody);
      mark = CodeMark(absl::StrCat(parameters == kNoNode ? "" : tree().CodeOf(parameters),
                                   body == kNoNode ? "" : tree().CodeOf(body)));
    }
    function.symbol = absl::StrCat("function ", mark);
    for (NodeId decorator : decorators) {
      const NodeId expression = tree()[decorator].first;
      if (expression == kNoNode) continue;
      const ValueId value = m_.Evaluate(expression);
      const ScriptValue& by = m_.values[value];
      if (by.fact >= 0) function.fact = by.fact;  // @torch.no_grad()
      const ApiRule* rule = by.kind == ValueKind::kApi ? m_.rules.Find(by.text) : nullptr;
      if (rule != nullptr && rule->kind == "no_grad") {
        MachineFact fact;
        fact.kind = rule->kind;
        fact.name = by.text;
        function.fact = m_.AddFact(std::move(fact), decorator);
      }
      const absl::string_view text = tree().TextOf(expression);
      if (text == "staticmethod" || text == "classmethod") function.text = std::string(text);
      if (text == "property" || absl::EndsWith(text, "cached_property")) function.text = "property";
      if (absl::EndsWith(text, "contextmanager")) function.text = kContextManager;
      if (absl::StartsWith(by.symbol, "hydra.main")) function.text = "hydra";
      if (by.kind == ValueKind::kObject && by.text == kOptionDecorator) {
        function.text = kOfOptions;
        function.fields.insert(function.fields.end(), by.fields.begin(), by.fields.end());
      }
    }
    m_.SetLocal(tree().TextOf(name), m_.values.Add(std::move(function)));
  }

  void DefineClass(NodeId node) {
    const NodeId name = tree().Child(node, Part::kName);
    if (name == kNoNode) return;
    ScriptValue type;
    type.kind = ValueKind::kClass;
    type.module = m_.frame().module;
    type.node = node;
    type.text = std::string(tree().TextOf(name));
    std::string& mark = m_.TextOfDefinition(type.module, node).code_mark;
    if (mark.empty()) mark = CodeMark(tree().CodeOf(node));
    type.symbol = absl::StrCat("class ", mark);
    if (const NodeId bases = tree().Child(node, Part::kSuperclasses); bases != kNoNode) {
      for (NodeId base = tree()[bases].first; base != kNoNode; base = tree()[base].next) {
        if (tree()[base].kind != Syntax::kKeywordArgument) type.items.push_back(m_.Evaluate(base));
      }
    }
    const ValueId value = m_.values.Add(std::move(type));
    const int outer_scope = m_.frame().scope;
    const ValueId outer_class = m_.frame().own_class;
    m_.frame().scope = m_.NewScope(outer_scope, m_.frame().module);
    m_.frame().own_class = value;
    Body(tree().Child(node, Part::kBody));
    const auto names = m_.NamesOf(m_.frame().scope);
    m_.frame().scope = outer_scope;
    m_.frame().own_class = outer_class;
    for (const auto& [field, of] : names) {
      if (m_.values[of].kind == ValueKind::kFunction)
        m_.values[of].scope = outer_scope;  // methods do not see the class's names
    }
    m_.values[value].fields = names;
    m_.SetLocal(tree().TextOf(name), value);
  }

  void Decorated(NodeId node) {
    std::vector<NodeId> decorators;
    for (NodeId child = tree()[node].first; child != kNoNode; child = tree()[child].next) {
      if (tree()[child].kind == Syntax::kDecorator) decorators.push_back(child);
    }
    const NodeId definition = tree().Child(node, Part::kDefinition);
    if (definition == kNoNode) return;
    if (tree()[definition].kind == Syntax::kFunction) return Define(definition, decorators);
    if (tree()[definition].kind == Syntax::kClass) DefineClass(definition);
  }

  ScriptMachine& m_;
};

// p.grad = None clears a gradient; p.requires_grad = False takes a parameter out of training.
void NoteAttribute(ScriptMachine& m, NodeId target, ValueId object, absl::string_view name, ValueId value) {
  const ScriptValue& given = m.values[value];
  MachineFact fact;
  if (name == "grad" && given.kind == ValueKind::kNone) {
    fact.kind = "zero_grad";
  } else if (name == "requires_grad" && given.kind == ValueKind::kBoolean && !given.boolean) {
    fact.kind = "freeze";
  } else {
    return;
  }
  fact.name = absl::StrCat("set ", name);
  fact.made_of = m.values.AllFacts(object);
  m.AddFact(std::move(fact), target);
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): Statements::Run bounds it
Flow ExecuteBlock(ScriptMachine& m, NodeId block) {
  Statements statements(m);
  for (NodeId child = m.tree()[block].first; child != kNoNode; child = m.tree()[child].next) {
    const Flow flow = statements.Run(child);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

// NOLINTNEXTLINE(misc-no-recursion): targets nest as deep as the source, which m.depth bounds
void AssignTo(ScriptMachine& m, NodeId target, ValueId value) {
  if (target == kNoNode || !m.Step() || m.depth > kStatementDepthMax) return;
  const SyntaxTree& tree = m.tree();
  switch (tree[target].kind) {
    case Syntax::kIdentifier: m.SetLocal(tree.TextOf(target), value); return;
    case Syntax::kAttribute: {
      const NodeId object = tree.Child(target, Part::kObject);
      const NodeId name = tree.Child(target, Part::kAttribute);
      if (object == kNoNode || name == kNoNode) return;
      const ValueId of = m.Evaluate(object);
      const ValueKind kind = m.values[of].kind;
      if (kind == ValueKind::kApi || kind == ValueKind::kUnknown || kind == ValueKind::kBound) ++m.untold;
      NoteAttribute(m, target, of, m.tree().TextOf(name), value);
      SetAttribute(m, of, m.tree().TextOf(name), value, target);
      return;
    }
    case Syntax::kSubscript: {
      const NodeId object = tree.Child(target, Part::kValue);
      const NodeId index = tree.Child(target, Part::kSubscript);
      if (object == kNoNode || index == kNoNode) return;
      const ValueId of = m.Evaluate(object);
      const ValueId at = m.Evaluate(index);
      NoteGroupSet(m, target, of, at, value);
      if (m.values[of].kind == ValueKind::kMap && m.values[at].kind == ValueKind::kText) {
        m.SetField(of, m.values[at].text, value);
      } else if (HoldsOptions(m, of)) {
        if (m.values[at].kind == ValueKind::kText) {
          SetAttribute(m, of, m.values[at].text, value, target);
        } else {
          Stir(m, of);
        }
      } else if (m.tree()[index].kind == Syntax::kSlice && m.tree()[index].first == kNoNode) {
        ReplaceItems(m, of, value);
      } else if (m.values[of].kind == ValueKind::kMap) {
        AddUnderKey(m, of, at, value);
      } else if (m.values[of].kind != ValueKind::kApi && !m.values[of].is_constant()) {
        m.values.Derive(m.values[of], value);  // None and other constants are everybody's
      }
      return;
    }
    case Syntax::kTuple:
    case Syntax::kList:
    case Syntax::kPatternList:
    case Syntax::kExpressionList: {
      std::vector<NodeId> targets;
      for (NodeId child = tree[target].first; child != kNoNode; child = tree[child].next) targets.push_back(child);
      const ScriptValue given = m.values[value];
      const bool item_wise =
          given.kind == ValueKind::kSequence && given.symbol.empty() && given.items.size() == targets.size();
      ++m.depth;
      for (std::size_t i = 0; i < targets.size(); ++i) {
        m.Assign(targets[i], item_wise ? given.items[i] : ElementOf(m, value));
      }
      --m.depth;
      return;
    }
    case Syntax::kListSplat:
    case Syntax::kParenthesized:
    case Syntax::kAsPatternTarget:
      ++m.depth;
      m.Assign(tree[target].first, value);
      --m.depth;
      return;
    default: return;
  }
}

}  // namespace paritect
