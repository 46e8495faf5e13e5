#include "rules/metrics.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/built_in.h"
#include "rules/evaluation_words.h"

namespace paritect {
namespace {

constexpr std::size_t kKeyBytesMax = 64;

constexpr std::pair<absl::string_view, MetricSense> kSenses[] = {
    {"share", {true, true, false}},   {"error_share", {false, true, false}}, {"higher", {true, false, false}},
    {"lower", {false, false, false}}, {"loss", {false, false, true}},
};

// --- reading ---

template <typename Slot>
absl::Status ReadWords(const DocumentNode& node, Slot& slot) {
  return ReadList(node, "a list of words", [&](const DocumentNode& item) {
    std::string word;
    PARITECT_RETURN_IF_ERROR(ReadText(item, "a word", word));
    slot.insert(slot.end(), word);
    return absl::OkStatus();
  });
}

absl::Status ReadNameWords(const DocumentNode& node, NameWords& out) {
  return ReadMap(node, "words of a name",
                 {{"words", [&](const DocumentNode& value) { return ReadWords(value, out.words); }},
                  {"first", [&](const DocumentNode& value) { return ReadWords(value, out.first); }},
                  {"second", [&](const DocumentNode& value) { return ReadWords(value, out.second); }},
                  {"not_beside", [&](const DocumentNode& value) { return ReadWords(value, out.not_beside); }},
                  {"endings", [&](const DocumentNode& value) { return ReadWords(value, out.endings); }},
                  {"parts", [&](const DocumentNode& value) { return ReadWords(value, out.parts); }},
                  {"not_parts", [&](const DocumentNode& value) { return ReadWords(value, out.not_parts); }}});
}

absl::Status ReadSense(const DocumentNode& node, MetricSense& sense) {
  for (const auto& [word, known] : kSenses) {
    if (node.text != word) continue;
    sense = known;
    return absl::OkStatus();
  }
  return ErrorAt(node, absl::StrCat("unknown sense '", node.text, "'"));
}

absl::Status ReadMetric(const DocumentNode& node, MetricTable& out) {
  EvaluationMetric metric;
  std::vector<std::string> spellings, words;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "a metric",
              {{"name", [&](const DocumentNode& value) { return ReadText(value, "name", metric.name); }},
               {"sense", [&](const DocumentNode& value) { return ReadSense(value, metric.sense); }},
               {"rank",
                [&](const DocumentNode& value) -> absl::Status {
                  PARITECT_ASSIGN_OR_RETURN(const std::int64_t rank, ReadCount(value, "rank", 0));
                  metric.rank = static_cast<int>(rank);
                  return absl::OkStatus();
                }},
               {"only_evaluated",
                [&](const DocumentNode& value) { return ReadBool(value, "only_evaluated", metric.only_evaluated); }},
               {"words", [&](const DocumentNode& value) { return ReadWords(value, words); }},
               {"spellings", [&](const DocumentNode& value) { return ReadWords(value, spellings); }}}));
  for (const std::string& spelling : spellings) {
    if (spelling != NormalMetricKey(spelling))
      return ErrorAt(node, absl::StrCat("'", spelling, "' is not in plain form"));
    if (!out.by_spelling.emplace(spelling, metric).second)
      return ErrorAt(node, absl::StrCat("'", spelling, "' stands twice"));
  }
  for (const std::string& word : words) {
    if (!out.senses.emplace(word, metric.sense).second) return ErrorAt(node, absl::StrCat("'", word, "' stands twice"));
  }
  return absl::OkStatus();
}

absl::Status ReadFields(const DocumentNode& node, MetricTable& out) {
  if (!node.is_map()) return ErrorAt(node, "`fields` must be a map of what a field is to its names");
  for (const auto& [word, value] : node.fields) {
    if (std::find(std::begin(kLogFieldWords), std::end(kLogFieldWords), word.text) == std::end(kLogFieldWords)) {
      return ErrorAt(word, absl::StrCat("unknown field '", word.text, "'"));
    }
    std::vector<std::string> names;
    PARITECT_RETURN_IF_ERROR(ReadWords(value, names));
    for (const std::string& name : names) {
      if (name != NormalMetricKey(name)) return ErrorAt(value, absl::StrCat("'", name, "' is not in plain form"));
      if (!out.fields.emplace(name, word.text).second) return ErrorAt(value, absl::StrCat("'", name, "' stands twice"));
    }
  }
  return absl::OkStatus();
}

const MetricTable& BuiltInMetrics() {
  return BuiltInTable<&ReadMetrics>("metrics.yaml");
}

// --- looking up ---

bool HoldsAny(absl::string_view text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return absl::StrContains(text, part); });
}

bool HoldsAll(absl::string_view text, const std::vector<std::string>& parts) {
  return !parts.empty() && std::all_of(parts.begin(), parts.end(),
                                       [&](const std::string& part) { return absl::StrContains(text, part); });
}

// "val/mAP50-95(B)" -> val, map, b; digits at the end of a word belong to its variant.
std::vector<std::string> WordsOf(absl::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto take = [&] {
    while (!word.empty() && absl::ascii_isdigit(static_cast<unsigned char>(word.back()))) word.pop_back();
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      word.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    } else {
      take();
    }
  }
  take();
  return words;
}

}  // namespace

absl::StatusOr<MetricTable> ReadMetrics(const DocumentNode& root) {
  MetricTable out;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(root, "the metrics",
              {{"evaluators", [&](const DocumentNode& value) { return ReadWords(value, out.evaluators); }},
               {"part_words", [&](const DocumentNode& value) { return ReadWords(value, out.part_words); }},
               {"loss_terms", [&](const DocumentNode& value) { return ReadNameWords(value, out.loss_terms); }},
               {"summed_terms", [&](const DocumentNode& value) { return ReadWords(value, out.summed_terms); }},
               {"gradient_norms", [&](const DocumentNode& value) { return ReadNameWords(value, out.gradient_norms); }},
               {"fields", [&](const DocumentNode& value) { return ReadFields(value, out); }},
               {"metrics", [&](const DocumentNode& value) {
                  return ReadList(value, "metrics", [&](const DocumentNode& item) { return ReadMetric(item, out); });
                }}}));
  if (out.fields.empty()) return ErrorAt(root, "`fields` is needed: no log could be read without");
  return out;
}

const absl::flat_hash_map<std::string, std::string>& LogFieldNames() {
  return BuiltInMetrics().fields;
}

std::string NormalMetricKey(absl::string_view key) {
  std::string out;
  out.reserve(key.size());
  for (char c : key) {
    if (c == '-' || c == ' ' || c == '/' || c == '.') c = '_';
    out.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool StripEvaluationWords(absl::string_view& normal_key) {
  bool found = false;
  const std::size_t first = normal_key.find('_');
  if (first != absl::string_view::npos && IsEvaluationSplit(normal_key.substr(0, first))) {
    normal_key.remove_prefix(first + 1);
    found = true;
  }
  const std::size_t last = normal_key.rfind('_');
  if (last != absl::string_view::npos && IsEvaluationSplit(normal_key.substr(last + 1))) {
    normal_key = normal_key.substr(0, last);
    found = true;
  }
  return found;
}

const EvaluationMetric* FindEvaluationMetric(absl::string_view key) {
  if (key.empty() || key.size() > kKeyBytesMax) return nullptr;
  // A name in front of the last '/' is the evaluation's or the data set's: "coco/bbox_mAP".
  const std::size_t slash = key.rfind('/');
  const absl::string_view folder = slash == absl::string_view::npos ? "" : key.substr(0, slash);
  if (absl::StrContains(absl::AsciiStrToLower(folder), "train")) return nullptr;
  const std::string normal = NormalMetricKey(slash == absl::string_view::npos ? key : key.substr(slash + 1));
  absl::string_view name = normal;
  name = name.substr(0, name.find('('));  // Ultralytics: "metrics/mAP50-95(B)"
  const bool evaluation = StripEvaluationWords(name) || !folder.empty();
  const auto found = BuiltInMetrics().by_spelling.find(name);
  if (found == BuiltInMetrics().by_spelling.end()) return nullptr;
  return found->second.only_evaluated && !evaluation ? nullptr : &found->second;
}

std::optional<MetricSense> SenseOf(absl::string_view name) {
  const MetricTable& metrics = BuiltInMetrics();
  bool evaluation = false;
  bool evaluated_loss = false;
  std::optional<MetricSense> sense;
  for (const std::string& word : WordsOf(name)) {
    if (word == "train") return std::nullopt;
    const bool evaluator = IsEvaluationSplit(word) || metrics.evaluators.contains(word);
    evaluation = evaluation || evaluator;
    evaluated_loss = evaluated_loss || (evaluator && !metrics.part_words.contains(word));
    const auto found = metrics.senses.find(word);
    if (found != metrics.senses.end()) sense = found->second;
  }
  if (sense.has_value() && sense->is_loss) evaluation = evaluated_loss;
  return evaluation ? sense : std::nullopt;
}

bool NamesLossTerm(absl::string_view key) {
  const NameWords& terms = BuiltInMetrics().loss_terms;
  const std::string normal = NormalMetricKey(key);
  bool found = false;
  for (const absl::string_view word : absl::StrSplit(normal, absl::ByAnyChar("_:@ "))) {
    if (terms.not_beside.contains(word) || HoldsAny(word, terms.not_parts)) return false;
    found = found || terms.words.contains(word) || HoldsAny(word, terms.parts) ||
            std::any_of(terms.endings.begin(), terms.endings.end(),
                        [word](const std::string& ending) { return absl::EndsWith(word, ending); });
  }
  return found;
}

bool NamesSummedTerm(absl::string_view key) {
  const std::string normal = NormalMetricKey(key);
  absl::string_view name = normal;
  absl::ConsumePrefix(&name, "train_");
  return BuiltInMetrics().summed_terms.contains(name);
}

bool NamesGradientNorm(absl::string_view key) {
  const NameWords& norms = BuiltInMetrics().gradient_norms;
  const std::string normal = NormalMetricKey(key);
  if (HoldsAll(normal, norms.parts)) return true;
  bool first = false;
  bool second = false;
  for (const absl::string_view word : absl::StrSplit(normal, '_')) {
    if (norms.words.contains(word)) return true;
    if (norms.not_beside.contains(word)) return false;
    first = first || norms.first.contains(word);
    second = second || norms.second.contains(word);
  }
  return first && second;
}

bool NamesEvaluationFigure(absl::string_view key) {
  const std::string normal = NormalMetricKey(key);
  const std::vector<absl::string_view> words = absl::StrSplit(normal, '_');
  if (words.size() > 1 && std::any_of(words.begin(), words.end(), &IsEvaluationSplit)) return true;
  const std::vector<std::string>& signs = BuiltInEvaluationWords().signs;
  return std::any_of(signs.begin(), signs.end(),
                     [&](const std::string& sign) { return absl::StartsWith(normal, sign); });
}

}  // namespace paritect
