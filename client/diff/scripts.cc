// diff scripts A B: what the scripts of two sides say, fact against fact: the input pipeline, precision, optimizer,
// layers, seeds; and what else the code does, statement against statement. Formatting, comments and the words of a
// device do not count.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "agent/collectors/script_files.h"
#include "checks/scripts/flow.h"
#include "checks/scripts/words.h"
#include "client/diff/diff_kind.h"
#include "client/diff/diff_side.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

using absl::StrCat;

struct Row {
  std::string kind;
  std::string a, b;              // in words; "" where a side has none
  std::string place_a, place_b;  // "train.py:12"
  bool equal() const { return a.empty() == b.empty() && WithoutDevice(a) == WithoutDevice(b); }
};

// Facts that say how a training computes, and statements that no fact tells whole; the others (ranks, listings, loops)
// are how it is made.
bool IsCompared(const v1::ScriptFact& fact) {
  static constexpr absl::string_view kKinds[] = {"shuffle",
                                                 "loader",
                                                 "sampler",
                                                 "dataset",
                                                 "batch",
                                                 "map",
                                                 "filter",
                                                 "take",
                                                 "repeat",
                                                 "interleave",
                                                 "padding",
                                                 "tokenize",
                                                 "transform",
                                                 "shard",
                                                 "list_files",
                                                 "autocast",
                                                 "cast",
                                                 "tensor_cast",
                                                 "scaler",
                                                 "amp_level",
                                                 "policy",
                                                 "loss_scale_manager",
                                                 "loss_scale_optimizer",
                                                 "graph_rewrite",
                                                 "optimizer",
                                                 "schedule",
                                                 "layer",
                                                 "functional_dropout",
                                                 "seed",
                                                 "clip",
                                                 "load",
                                                 "distributed_init",
                                                 "distributed_wrapper",
                                                 "set_epoch",
                                                 "eval_mode",
                                                 "train_mode",
                                                 "zero_grad",
                                                 "trainer",
                                                 "fit",
                                                 "parameter_group",
                                                 "functional_loss",
                                                 "training_arguments",
                                                 "optimizer_step",
                                                 "scaler_step",
                                                 "schedule_step",
                                                 "unscale",
                                                 "group_set",
                                                 "freeze",
                                                 "requires_grad",
                                                 "convert",
                                                 "train_step",
                                                 "engine",
                                                 "steps",
                                                 "code"};
  return fact.called() && std::find(std::begin(kKinds), std::end(kKinds), fact.kind()) != std::end(kKinds);
}

// "Compose(Resize, ToTensor)": in the order in which samples pass them.
std::string StepsInWords(const v1::ScriptTree& tree, const v1::ScriptFact& fact) {
  const v1::ScriptArgument* order = FindScriptArgument(fact, "<order>");
  if (order == nullptr || !order->value().has_list()) return ScriptDetail(fact);
  std::string out = absl::StrCat(fact.name().substr(fact.name().rfind('.') + 1), "(");
  for (const v1::Value& step : order->value().list().items()) {
    const bool told = step.integer() >= 0 && step.integer() < tree.facts_size();
    const std::string name = told ? tree.facts(static_cast<int>(step.integer())).name() : "...";
    absl::StrAppend(&out, out.back() == '(' ? "" : ", ", told ? name.substr(name.rfind('.') + 1) : name);
  }
  return absl::StrCat(out, ")");
}

std::string Words(const v1::ScriptTree& tree, const v1::ScriptFact& fact) {
  if (fact.kind() == "code") return fact.name();
  const std::string detail = fact.kind() == "steps" ? StepsInWords(tree, fact) : ScriptDetail(fact);
  return fact.use() == "evaluation" ? StrCat(detail, " [evaluation]") : detail;
}

// The facts of one kind.
struct FactsOfSide {
  const v1::ScriptTree* tree = nullptr;
  std::vector<const v1::ScriptFact*> facts;
};

// The rows of one kind: the longest common run of equal facts stays together.
void CompareKind(const std::string& kind, const FactsOfSide& side_a, const FactsOfSide& side_b,
                 std::vector<Row>& rows) {
  const std::vector<const v1::ScriptFact*>& x = side_a.facts;
  const std::vector<const v1::ScriptFact*>& y = side_b.facts;
  const std::size_t n = x.size();
  const std::size_t m = y.size();
  std::map<const v1::ScriptFact*, std::string> words;
  std::map<const v1::ScriptFact*, std::string> plain;
  for (const FactsOfSide* side : {&side_a, &side_b}) {
    for (const v1::ScriptFact* fact : side->facts) {
      words[fact] = Words(*side->tree, *fact);
      plain[fact] = WithoutDevice(words[fact]);
    }
  }
  const auto alike = [&](const v1::ScriptFact& a, const v1::ScriptFact& b) { return plain[&a] == plain[&b]; };
  std::vector<std::vector<int>> length(n + 1, std::vector<int>(m + 1, 0));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      length[i][j] = alike(*x[i], *y[j]) ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < n || j < m) {
    const bool same = i < n && j < m && alike(*x[i], *y[j]);
    if (same) {
      rows.push_back({kind, words[x[i]], words[y[j]], ScriptPlace(*x[i]), ScriptPlace(*y[j])});
      ++i;
      ++j;
    } else if (i < n && j < m && length[i + 1][j] == length[i][j + 1]) {
      rows.push_back({kind, words[x[i]], words[y[j]], ScriptPlace(*x[i]), ScriptPlace(*y[j])});
      ++i;
      ++j;
    } else if (j == m || (i < n && length[i + 1][j] >= length[i][j + 1])) {
      rows.push_back({kind, words[x[i]], "", ScriptPlace(*x[i]), ""});
      ++i;
    } else {
      rows.push_back({kind, "", words[y[j]], "", ScriptPlace(*y[j])});
      ++j;
    }
  }
}

constexpr std::size_t kFactsMax = 2000;  // of one kind: comparing takes their product

std::vector<Row> CompareTrees(const v1::ScriptTree& a, const v1::ScriptTree& b) {
  std::map<std::string, std::pair<FactsOfSide, FactsOfSide>> kinds;
  const auto add = [](const v1::ScriptTree& tree, const v1::ScriptFact& fact, FactsOfSide& side) {
    side.tree = &tree;
    if (IsCompared(fact) && side.facts.size() < kFactsMax) side.facts.push_back(&fact);
  };
  for (const v1::ScriptFact& fact : a.facts()) add(a, fact, kinds[fact.kind()].first);
  for (const v1::ScriptFact& fact : b.facts()) add(b, fact, kinds[fact.kind()].second);
  std::vector<Row> rows;
  for (const auto& [kind, sides] : kinds) CompareKind(kind, sides.first, sides.second, rows);
  return rows;
}

// Files of the same code under another path, "trainer.py" by "loop.py".
std::vector<std::pair<std::string, std::string>> RenamedFiles(const v1::ScriptTree& a, const v1::ScriptTree& b) {
  const auto without = [](const v1::ScriptTree& tree, const v1::ScriptTree& other) {
    std::vector<const v1::ScriptFile*> files;
    for (const v1::ScriptFile& file : tree.files()) {
      const bool there = std::any_of(other.files().begin(), other.files().end(),
                                     [&](const v1::ScriptFile& one) { return one.path() == file.path(); });
      if (!there && !file.code_sha256().empty()) files.push_back(&file);
    }
    return files;
  };
  std::vector<std::pair<std::string, std::string>> renamed;
  const std::vector<const v1::ScriptFile*> of_b = without(b, a);
  for (const v1::ScriptFile* file : without(a, b)) {
    const auto same = std::find_if(
        of_b.begin(), of_b.end(), [&](const v1::ScriptFile* one) { return one->code_sha256() == file->code_sha256(); });
    if (same != of_b.end()) renamed.emplace_back(file->path(), (*same)->path());
  }
  return renamed;
}

// A folder or a script as it lies there; else a plan, a bundle or what a server has.
absl::StatusOr<v1::ScriptTree> LoadTree(CommandEnv& env, const std::string& path) {
  const bool planned = env.fs.Stat(JoinPath(path, "plan.yaml")).ok();
  const bool is_folder = env.fs.Stat(path).ok() && env.fs.Stat(path)->type == FileInfo::Type::kDirectory;
  if ((is_folder && !planned) || (path.size() > 3 && path.substr(path.size() - 3) == ".py")) {
    std::vector<ScriptSourceFile> files;
    ScriptOptions options;
    PARITECT_RETURN_IF_ERROR(AddScriptFiles(env.fs, path, "", files, options.entry));
    if (!HoldScripts(files)) return absl::InvalidArgumentError(StrCat(DisplayBytes(path), ": no Python file in it"));
    return ReadScripts(std::move(files), options, env.rules.scripts);
  }
  PARITECT_ASSIGN_OR_RETURN(const std::vector<v1::Bundle> bundles, LoadDiffSide(env, path, BareFiles::kSettings));
  for (const v1::Bundle& bundle : bundles) {
    for (const v1::Evidence& evidence : bundle.evidence()) {
      if (evidence.has_script_tree()) return evidence.script_tree();
    }
  }
  return absl::InvalidArgumentError(StrCat(DisplayBytes(path), ": no scripts were named or read"));
}

OrderedJson SideJson(const std::string& words, const std::string& place) {
  if (words.empty()) return nullptr;
  return {{"detail", words}, {"origin", place}};
}

void Print(CommandEnv& env, const DiffRequest& request, const std::vector<Row>& rows,
           const std::vector<std::pair<std::string, std::string>>& renamed, int different) {
  TableWriter w(request.render, env.out);
  const auto say = [&](absl::string_view id, const MessageArgs& args = {}) {
    return InAll(request.render.languages, env.rules.messages.Say(id, args));
  };
  std::string kind;
  for (const Row& row : rows) {
    if (row.equal() && !request.all) continue;
    if (row.kind != kind) {
      kind = row.kind;
      w.Heading(kind);
    }
    if (row.equal()) {
      w.Wrapped(2, "=", StrCat(row.a, "  (", row.place_a, ", ", row.place_b, ")"), Style::kDim);
      continue;
    }
    w.Wrapped(2, "a:", row.a.empty() ? say("ui_diff_not_there") : StrCat(row.a, "  (", row.place_a, ")"), Style::kRed);
    w.Wrapped(2, "b:", row.b.empty() ? say("ui_diff_not_there") : StrCat(row.b, "  (", row.place_b, ")"),
              Style::kGreen);
  }
  for (const auto& [from, to] : renamed) w.Wrapped(0, "", say("ui_diff_renamed", {{"from", from}, {"to", to}}));
  w.Wrapped(0, "",
            say("ui_diff_counts", {{"different", StrCat(different)},
                                   {"equal", StrCat(rows.size() - static_cast<std::size_t>(different))}}));
}

absl::StatusOr<bool> Run(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(const v1::ScriptTree a, LoadTree(env, request.a));
  PARITECT_ASSIGN_OR_RETURN(const v1::ScriptTree b, LoadTree(env, request.b));
  const std::vector<Row> rows = CompareTrees(a, b);
  const std::vector<std::pair<std::string, std::string>> renamed = RenamedFiles(a, b);
  const int different =
      static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.equal(); }));
  if (!request.json) {
    Print(env, request, rows, renamed, different);
    return different == 0;
  }
  OrderedJson json;
  json["schema"] = "paritect.diff/1";
  json["kind"] = "scripts";
  json["a"] = DisplayBytes(request.a);
  json["b"] = DisplayBytes(request.b);
  json["equal"] = different == 0;
  json["counts"] = {{"different", different}, {"equal", static_cast<int>(rows.size()) - different}};
  json["renamed"] = OrderedJson::array();
  for (const auto& [from, to] : renamed) json["renamed"].push_back({{"a", from}, {"b", to}});
  json["facts"] = OrderedJson::array();
  for (const Row& row : rows) {
    if (row.equal() && !request.all) continue;
    json["facts"].push_back(
        {{"kind", row.kind}, {"a", SideJson(row.a, row.place_a)}, {"b", SideJson(row.b, row.place_b)}});
  }
  env.out << DumpJson(json) << "\n";
  return different == 0;
}

}  // namespace

extern const DiffKind kScriptsDiff;
const DiffKind kScriptsDiff = {"scripts", "facts of training scripts, side by side", &Run};

}  // namespace paritect
