// diff scripts A B: what the scripts of two sides say, fact against fact: the input pipeline, precision, optimizer,
// layers, seeds. Formatting and comments do not count.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "agent/collectors/script_files.h"
#include "checks/scripts/flow.h"
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
  bool equal() const { return a == b; }
};

// Facts that say how a training computes; the others (ranks, listings, loops) are how it is made.
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
                                                 "fit"};
  return fact.called() && std::find(std::begin(kKinds), std::end(kKinds), fact.kind()) != std::end(kKinds);
}

std::string Words(const v1::ScriptFact& fact) {
  return fact.use() == "evaluation" ? StrCat(ScriptDetail(fact), " [evaluation]") : ScriptDetail(fact);
}

// The rows of one kind: the longest common run of equal facts stays together.
void CompareKind(const std::string& kind, const std::vector<const v1::ScriptFact*>& x,
                 const std::vector<const v1::ScriptFact*>& y, std::vector<Row>& rows) {
  const std::size_t n = x.size();
  const std::size_t m = y.size();
  std::vector<std::vector<int>> length(n + 1, std::vector<int>(m + 1, 0));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      length[i][j] =
          Words(*x[i]) == Words(*y[j]) ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < n || j < m) {
    const bool same = i < n && j < m && Words(*x[i]) == Words(*y[j]);
    if (same) {
      rows.push_back({kind, Words(*x[i]), Words(*y[j]), ScriptPlace(*x[i]), ScriptPlace(*y[j])});
      ++i;
      ++j;
    } else if (i < n && j < m && length[i + 1][j] == length[i][j + 1]) {
      rows.push_back({kind, Words(*x[i]), Words(*y[j]), ScriptPlace(*x[i]), ScriptPlace(*y[j])});
      ++i;
      ++j;
    } else if (j == m || (i < n && length[i + 1][j] >= length[i][j + 1])) {
      rows.push_back({kind, Words(*x[i]), "", ScriptPlace(*x[i]), ""});
      ++i;
    } else {
      rows.push_back({kind, "", Words(*y[j]), "", ScriptPlace(*y[j])});
      ++j;
    }
  }
}

constexpr std::size_t kFactsMax = 2000;  // of one kind: comparing takes their product

std::vector<Row> CompareTrees(const v1::ScriptTree& a, const v1::ScriptTree& b) {
  std::map<std::string, std::pair<std::vector<const v1::ScriptFact*>, std::vector<const v1::ScriptFact*>>> kinds;
  for (const v1::ScriptFact& fact : a.facts()) {
    auto& list = kinds[fact.kind()].first;
    if (IsCompared(fact) && list.size() < kFactsMax) list.push_back(&fact);
  }
  for (const v1::ScriptFact& fact : b.facts()) {
    auto& list = kinds[fact.kind()].second;
    if (IsCompared(fact) && list.size() < kFactsMax) list.push_back(&fact);
  }
  std::vector<Row> rows;
  for (const auto& [kind, sides] : kinds) CompareKind(kind, sides.first, sides.second, rows);
  return rows;
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

void Print(CommandEnv& env, const DiffRequest& request, const std::vector<Row>& rows, int different) {
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
  w.Wrapped(0, "",
            say("ui_diff_counts", {{"different", StrCat(different)},
                                   {"equal", StrCat(rows.size() - static_cast<std::size_t>(different))}}));
}

absl::StatusOr<bool> Run(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(const v1::ScriptTree a, LoadTree(env, request.a));
  PARITECT_ASSIGN_OR_RETURN(const v1::ScriptTree b, LoadTree(env, request.b));
  const std::vector<Row> rows = CompareTrees(a, b);
  const int different =
      static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.equal(); }));
  if (!request.json) {
    Print(env, request, rows, different);
    return different == 0;
  }
  OrderedJson json;
  json["schema"] = "paritect.diff/1";
  json["kind"] = "scripts";
  json["a"] = DisplayBytes(request.a);
  json["b"] = DisplayBytes(request.b);
  json["equal"] = different == 0;
  json["counts"] = {{"different", different}, {"equal", static_cast<int>(rows.size()) - different}};
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
