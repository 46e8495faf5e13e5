// Figures of training and evaluation by the names under which programs print them. Logs are read and runs are compared
// by the same table. Data: rules/data/metrics.yaml.
#ifndef PARITECT_RULES_METRICS_H_
#define PARITECT_RULES_METRICS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// What better means.
struct MetricSense {
  bool higher_is_better = true;
  bool points = true;  // a share (of 1 or of 100): the margin is in points; else relative
  bool is_loss = false;
};

struct EvaluationMetric {
  std::string name;  // "map": without the words of a data set or of an evaluation
  MetricSense sense;
  int rank = 0;                 // of several that are printed the lowest is compared
  bool only_evaluated = false;  // training steps print it too: of an evaluation only where the key says so
};

// Words that tell of what kind a name is.
struct NameWords {
  std::set<std::string, std::less<>> words, first, second, not_beside;
  std::vector<std::string> endings, parts, not_parts;
};

struct MetricTable {
  std::set<std::string, std::less<>> evaluators;
  std::set<std::string, std::less<>> part_words;
  NameWords loss_terms;
  std::set<std::string, std::less<>> summed_terms;
  NameWords gradient_norms;
  absl::flat_hash_map<std::string, EvaluationMetric> by_spelling;
  std::map<std::string, MetricSense, std::less<>> senses;  // of words within a longer name
  absl::flat_hash_map<std::string, std::string> fields;    // of a log, by their names in normal form
};

// InvalidArgument "LINE:COLUMN: ..." for an unknown key or sense, or a spelling that stands twice.
absl::StatusOr<MetricTable> ReadMetrics(const DocumentNode& root);

// What the fields of a log can be: the keys of `fields`.
constexpr absl::string_view kLogFieldWords[] = {
    "step",          "batch",         "total_steps",   "epoch",      "samples",   "rank",
    "total_loss",    "lm_loss",       "train_loss",    "loss",       "mean_loss", "eval_loss",
    "learning_rate", "gradient_norm", "skipped_total", "loss_scale", "accuracy",  "overflow",
};

// What a field of a log is called ("global_step") and what it is ("step"). Lives for ever.
const absl::flat_hash_map<std::string, std::string>& LogFieldNames();

// "coco/bbox_mAP", "val_mIoU", "eval/bleu-4", "test_perplexity"; nullptr: not known. Lives for ever.
const EvaluationMetric* FindEvaluationMetric(absl::string_view key);

// What a name of several words says of a validation metric, by a word that names an evaluation (eval, val, coco) and
// one that names the metric (acc, f1, map, wer, loss). nullopt: no validation metric, or of unknown sense.
std::optional<MetricSense> SenseOf(absl::string_view name);

// The key in small letters, '-', ' ', '/' and '.' as '_': "Train Loss", "train/loss" and "train_loss" are one.
std::string NormalMetricKey(absl::string_view key);

// Takes the words of an evaluation off a normal key ("val_", "_test"); whether there were any.
bool StripEvaluationWords(absl::string_view& normal_key);

// The loss or a part of it: "loss_bbox", "train/box_loss", "mtp_1 loss", "aux.d0.loss_cls", "分类损失". Not what only
// has to do with one: "loss_scale", "loss_weight", "packet loss".
bool NamesLossTerm(absl::string_view key);

// A term that programs add to others without printing the sum: "train/box_loss", "lobj".
bool NamesSummedTerm(absl::string_view key);

// "optim/total_grad_norm", "critic/grad_norm", "grad_norm.0_default", "grad_2.0_norm_total", "gnorm".
bool NamesGradientNorm(absl::string_view key);

// Of a validation or a test: "val/box_loss", "eval_loss", "验证损失".
bool NamesEvaluationFigure(absl::string_view key);

}  // namespace paritect

#endif  // PARITECT_RULES_METRICS_H_
