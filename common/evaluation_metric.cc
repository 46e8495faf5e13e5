#include "common/evaluation_metric.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

struct Spelling {
  absl::string_view key;
  EvaluationMetric metric;
};

constexpr bool kLower = false;
constexpr bool kRelative = false;

// By hand: names as the projects' evaluation code prints them (detection, segmentation, translation, recognition,
// recommendation, language models).
constexpr Spelling kSpellings[] = {
    {"map", {"map", true, true, 1}},
    {"mean_average_precision", {"map", true, true, 1}},
    {"map_50_95", {"map", true, true, 1}},
    {"map50_95", {"map", true, true, 1}},
    {"ap", {"map", true, true, 1}},
    {"bbox_map", {"map", true, true, 1}},
    {"bbox_ap", {"map", true, true, 1}},
    {"segm_map", {"segm_map", true, true, 2}},
    {"segm_ap", {"segm_map", true, true, 2}},
    {"miou", {"miou", true, true, 2}},
    {"mean_iou", {"miou", true, true, 2}},
    {"iou", {"iou", true, true, 3}},
    {"dice", {"dice", true, true, 3}},
    {"mdice", {"dice", true, true, 3}},
    {"dice_score", {"dice", true, true, 3}},
    {"map50", {"map50", true, true, 4}},
    {"map_50", {"map50", true, true, 4}},
    {"map_0_5", {"map50", true, true, 4}},
    {"map@0_5", {"map50", true, true, 4}},
    {"ap50", {"map50", true, true, 4}},
    {"bbox_map_50", {"map50", true, true, 4}},
    {"bbox_ap50", {"map50", true, true, 4}},
    {"ap75", {"map75", true, true, 5}},
    {"map75", {"map75", true, true, 5}},
    {"bbox_map_75", {"map75", true, true, 5}},
    {"aacc", {"aacc", true, true, 5}},
    {"macc", {"macc", true, true, 5}},
    {"bleu", {"bleu", true, true, 2}},
    {"bleu4", {"bleu", true, true, 2}},
    {"bleu_4", {"bleu", true, true, 2}},
    {"sacrebleu", {"bleu", true, true, 2}},
    {"bleu_score", {"bleu", true, true, 2}},
    {"rouge1", {"rouge1", true, true, 3}},
    {"rouge_1", {"rouge1", true, true, 3}},
    {"rouge2", {"rouge2", true, true, 4}},
    {"rouge_2", {"rouge2", true, true, 4}},
    {"rougel", {"rougel", true, true, 4}},
    {"rouge_l", {"rougel", true, true, 4}},
    {"rougelsum", {"rougelsum", true, true, 5}},
    {"meteor", {"meteor", true, true, 5}},
    {"f1", {"f1", true, true, 2}},
    {"f1_score", {"f1", true, true, 2}},
    {"macro_f1", {"macro_f1", true, true, 3}},
    {"f1_macro", {"macro_f1", true, true, 3}},
    {"micro_f1", {"micro_f1", true, true, 3}},
    {"f1_micro", {"micro_f1", true, true, 3}},
    {"exact_match", {"exact_match", true, true, 3}},
    {"auc", {"auc", true, true, 2}},
    {"auroc", {"auc", true, true, 2}},
    {"roc_auc", {"auc", true, true, 2}},
    {"ndcg", {"ndcg", true, true, 3}},
    {"mrr", {"mrr", true, true, 4}},
    {"best_acc", {"best_accuracy", true, true, 6}},
    {"best_acc1", {"best_accuracy", true, true, 6}},
    {"best_accuracy", {"best_accuracy", true, true, 6}},
    {"best_top1", {"best_accuracy", true, true, 6}},
    {"best_map", {"best_map", true, true, 6}},
    {"best_miou", {"best_miou", true, true, 6}},
    {"precision", {"precision", true, true, 5}},
    {"recall", {"recall", true, true, 5}},
    {"top_k_categorical_accuracy", {"top5_accuracy", true, true, 6}},
    {"top5_accuracy", {"top5_accuracy", true, true, 6}},
    {"top_5_accuracy", {"top5_accuracy", true, true, 6}},
    {"acc5", {"top5_accuracy", true, true, 6}},
    {"acc@5", {"top5_accuracy", true, true, 6}},
    {"wer", {"wer", kLower, true, 2}},
    {"cer", {"cer", kLower, true, 3}},
    {"error", {"error", kLower, true, 4}},
    {"error_rate", {"error", kLower, true, 4}},
    {"err", {"error", kLower, true, 4}},
    {"top1_error", {"error", kLower, true, 4}},
    {"err1", {"error", kLower, true, 4}},
    {"fid", {"fid", kLower, kRelative, 3}},
    {"psnr", {"psnr", true, kRelative, 3}},
    {"ssim", {"ssim", true, kRelative, 4}},
    {"perplexity", {"perplexity", kLower, kRelative, 8}},
    {"ppl", {"perplexity", kLower, kRelative, 8}},
};

// Figures that training steps print as well: of an evaluation only where the key says so.
bool NeedsEvaluationWord(const EvaluationMetric& metric) {
  return metric.name == "perplexity" || metric.name == "iou" || metric.name == "dice" || metric.name == "f1" ||
         metric.name == "psnr" || metric.name == "ssim" || metric.name == "auc" || metric.name == "precision" ||
         metric.name == "recall" || metric.name == "error" || metric.name == "top5_accuracy";
}

const EvaluationMetric* FindSpelling(absl::string_view key) {
  for (const Spelling& one : kSpellings) {
    if (one.key == key) return &one.metric;
  }
  return nullptr;
}

}  // namespace

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
  for (absl::string_view word : {"val_", "valid_", "validation_", "eval_", "test_", "dev_", "evaluation_"}) {
    if (absl::ConsumePrefix(&normal_key, word)) {
      found = true;
      break;
    }
  }
  for (absl::string_view word : {"_val", "_valid", "_validation", "_eval", "_test", "_dev"}) {
    if (absl::ConsumeSuffix(&normal_key, word)) {
      found = true;
      break;
    }
  }
  return found;
}

const EvaluationMetric* FindEvaluationMetric(absl::string_view key) {
  if (key.empty() || key.size() > 64) return nullptr;
  // A name in front of the last '/' is the evaluation's or the data set's: "coco/bbox_mAP".
  const std::size_t slash = key.rfind('/');
  const absl::string_view folder = slash == absl::string_view::npos ? "" : key.substr(0, slash);
  if (absl::StrContains(absl::AsciiStrToLower(folder), "train")) return nullptr;
  const std::string normal = NormalMetricKey(slash == absl::string_view::npos ? key : key.substr(slash + 1));
  absl::string_view name = normal;
  name = name.substr(0, name.find('('));  // Ultralytics: "metrics/mAP50-95(B)"
  const bool evaluation = StripEvaluationWords(name) || !folder.empty();
  const EvaluationMetric* metric = FindSpelling(name);
  return metric == nullptr || (NeedsEvaluationWord(*metric) && !evaluation) ? nullptr : metric;
}

}  // namespace paritect
