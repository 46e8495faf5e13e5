#include "formats/logs/machinery/log_keys.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

struct FieldName {
  absl::string_view name;
  LogField field;
};

constexpr FieldName kFieldNames[] = {
    {"step", LogField::kStep},
    {"steps", LogField::kStep},
    {"global_step", LogField::kStep},
    {"global_steps", LogField::kStep},
    {"total_step", LogField::kStep},
    {"train_step", LogField::kStep},
    {"training_step", LogField::kStep},
    {"trainer_global_step", LogField::kStep},
    {"train_global_step", LogField::kStep},
    {"current_step", LogField::kStep},
    {"current_steps", LogField::kStep},
    {"cur_step", LogField::kStep},
    {"iteration", LogField::kStep},
    {"iterations", LogField::kStep},
    {"iter", LogField::kStep},
    {"iters", LogField::kStep},
    {"itr", LogField::kStep},
    {"num_updates", LogField::kStep},
    {"update", LogField::kStep},
    {"updates", LogField::kStep},
    {"_step", LogField::kStep},
    {"batch", LogField::kBatch},
    {"batch_idx", LogField::kBatch},
    {"minibatch", LogField::kBatch},
    {"步", LogField::kStep},
    {"步数", LogField::kStep},
    {"步骤", LogField::kStep},
    {"训练步数", LogField::kStep},
    {"训练步", LogField::kStep},
    {"当前步数", LogField::kStep},
    {"当前步", LogField::kStep},
    {"全局步数", LogField::kStep},
    {"全局步", LogField::kStep},
    {"迭代", LogField::kStep},
    {"迭代次数", LogField::kStep},
    {"迭代步数", LogField::kStep},
    {"批次", LogField::kBatch},
    {"总步数", LogField::kTotalSteps},
    {"total_steps", LogField::kTotalSteps},
    {"max_steps", LogField::kTotalSteps},
    {"epoch", LogField::kEpoch},
    {"cur_epoch", LogField::kEpoch},
    {"轮次", LogField::kEpoch},
    {"轮数", LogField::kEpoch},
    {"轮", LogField::kEpoch},
    {"训练轮次", LogField::kEpoch},
    {"训练轮数", LogField::kEpoch},
    {"epoch_num", LogField::kEpoch},
    {"train_epoch", LogField::kEpoch},
    {"training_epoch", LogField::kEpoch},
    {"consumed_samples", LogField::kSamples},
    {"samples", LogField::kSamples},
    {"rank", LogField::kRank},
    {"total_loss", LogField::kTotalLoss},
    {"loss_total", LogField::kTotalLoss},
    {"train_total_loss", LogField::kTotalLoss},
    {"lm_loss", LogField::kLmLoss},
    {"train_loss", LogField::kTrainLoss},
    {"training_loss", LogField::kTrainLoss},
    {"train_samples_train_loss", LogField::kTrainLoss},
    {"train_loss_step", LogField::kTrainLoss},
    {"loss_train", LogField::kTrainLoss},
    {"trainloss", LogField::kTrainLoss},
    {"loss", LogField::kLoss},
    {"epoch_loss", LogField::kLoss},
    {"step_loss", LogField::kLoss},
    {"cur_loss", LogField::kLoss},
    {"current_loss", LogField::kLoss},
    {"损失", LogField::kLoss},
    {"损失值", LogField::kLoss},
    {"当前损失", LogField::kLoss},
    {"训练损失", LogField::kTrainLoss},
    {"总损失", LogField::kTotalLoss},
    {"平均损失", LogField::kMeanLoss},
    {"验证损失", LogField::kEvalLoss},
    {"测试损失", LogField::kEvalLoss},
    {"评估损失", LogField::kEvalLoss},
    {"avg_loss", LogField::kMeanLoss},
    {"average_loss", LogField::kMeanLoss},
    {"mean_loss", LogField::kMeanLoss},
    {"loss_avg", LogField::kMeanLoss},
    {"loss_mean", LogField::kMeanLoss},
    {"train_loss_epoch", LogField::kMeanLoss},
    {"val_loss", LogField::kEvalLoss},
    {"valid_loss", LogField::kEvalLoss},
    {"validation_loss", LogField::kEvalLoss},
    {"eval_loss", LogField::kEvalLoss},
    {"evaluation_loss", LogField::kEvalLoss},
    {"test_loss", LogField::kEvalLoss},
    {"dev_loss", LogField::kEvalLoss},
    {"loss_val", LogField::kEvalLoss},
    {"loss_eval", LogField::kEvalLoss},
    {"lm_loss_validation", LogField::kEvalLoss},
    {"evaluation_loss_vs_iterations", LogField::kEvalLoss},
    {"epoch_val_loss", LogField::kEvalLoss},
    {"lr", LogField::kLr},
    {"学习率", LogField::kLr},
    {"learning_rate", LogField::kLr},
    {"train_lr", LogField::kLr},
    {"train_learning_rate", LogField::kLr},
    {"cur_lr", LogField::kLr},
    {"current_lr", LogField::kLr},
    {"current_learning_rate", LogField::kLr},
    {"base_lr", LogField::kLr},
    {"epoch_learning_rate", LogField::kLr},
    {"epoch_lr", LogField::kLr},
    {"actor_lr", LogField::kLr},
    {"grad_norm", LogField::kGradNorm},
    {"梯度范数", LogField::kGradNorm},
    {"梯度裁剪前范数", LogField::kGradNorm},
    {"gradnorm", LogField::kGradNorm},
    {"train_grad_norm", LogField::kGradNorm},
    {"gradient_norm", LogField::kGradNorm},
    {"gnorm", LogField::kGradNorm},
    {"global_norm", LogField::kGradNorm},
    {"global_grad_norm", LogField::kGradNorm},
    {"total_norm", LogField::kGradNorm},
    {"actor_grad_norm", LogField::kGradNorm},
    {"inf_nan_skip_batches", LogField::kSkippedTotal},
    {"total_skipped_steps", LogField::kSkippedTotal},
    {"skipped_steps_total", LogField::kSkippedTotal},
    {"total_skipped", LogField::kSkippedTotal},
    {"num_skipped_steps", LogField::kSkippedTotal},
    {"累计跳过步数", LogField::kSkippedTotal},
    {"loss_scale", LogField::kLossScale},
    {"损失缩放", LogField::kLossScale},
    {"损失缩放系数", LogField::kLossScale},
    {"lossscale", LogField::kLossScale},
    {"loss_scaling", LogField::kLossScale},
    {"loss_scaler", LogField::kLossScale},
    {"scale", LogField::kLossScale},
    {"scaler", LogField::kLossScale},
    {"amp_scale", LogField::kLossScale},
    {"accuracy", LogField::kAccuracy},
    {"准确率", LogField::kAccuracy},
    {"精度", LogField::kAccuracy},
    {"acc", LogField::kAccuracy},
    {"acc1", LogField::kAccuracy},
    {"acc@1", LogField::kAccuracy},
    {"top1", LogField::kAccuracy},
    {"top_1", LogField::kAccuracy},
    {"accuracy_top1", LogField::kAccuracy},
    {"eval_accuracy", LogField::kAccuracy},
    {"eval_acc", LogField::kAccuracy},
    {"eval_top1", LogField::kAccuracy},
    {"val_accuracy", LogField::kAccuracy},
    {"val_acc", LogField::kAccuracy},
    {"val_acc1", LogField::kAccuracy},
    {"test_acc1", LogField::kAccuracy},
    {"test_acc", LogField::kAccuracy},
    {"test_accuracy", LogField::kAccuracy},
    {"validation_accuracy", LogField::kAccuracy},
    {"epoch_accuracy", LogField::kAccuracy},
    {"evaluation_accuracy_vs_iterations", LogField::kAccuracy},
    {"binary_accuracy", LogField::kAccuracy},
    {"val_binary_accuracy", LogField::kAccuracy},
    {"categorical_accuracy", LogField::kAccuracy},
    {"sparse_categorical_accuracy", LogField::kAccuracy},
    {"val_sparse_categorical_accuracy", LogField::kAccuracy},
    {"acc_1", LogField::kAccuracy},
    {"acc_top1", LogField::kAccuracy},
    {"accuracy_top_1", LogField::kAccuracy},
    {"top1_acc", LogField::kAccuracy},
    {"top_1_acc", LogField::kAccuracy},
    {"top1_accuracy", LogField::kAccuracy},
    {"top_1_accuracy", LogField::kAccuracy},
    {"prec@1", LogField::kAccuracy},
    {"prec1", LogField::kAccuracy},
    {"top_1_categorical_accuracy", LogField::kAccuracy},
    {"masked_lm_accuracy", LogField::kAccuracy},
    {"overall_accuracy", LogField::kAccuracy},
    {"验证准确率", LogField::kAccuracy},
    {"测试准确率", LogField::kAccuracy},
    {"评估准确率", LogField::kAccuracy},
    {"验证集准确率", LogField::kAccuracy},
    {"测试集准确率", LogField::kAccuracy},
    {"验证精度", LogField::kAccuracy},
    {"测试精度", LogField::kAccuracy},
    {"评估精度", LogField::kAccuracy},
    {"验证集精度", LogField::kAccuracy},
    {"测试集精度", LogField::kAccuracy},
    {"overflow", LogField::kOverflow},
    {"overflow_cond", LogField::kOverflow},
    {"is_overflow", LogField::kOverflow},
};

const absl::flat_hash_map<absl::string_view, LogField>& Names() {
  static const auto* const kNames = [] {
    auto* names = new absl::flat_hash_map<absl::string_view, LogField>;
    for (const FieldName& one : kFieldNames) names->emplace(one.name, one.field);
    return names;
  }();
  return *kNames;
}

bool IsGlobalStep(absl::string_view name) {
  return name == "global_step" || name == "global_steps" || name == "trainer_global_step" || name == "num_updates" ||
         name == "train_global_step" || name == "全局步数" || name == "全局步";
}

// Lightning's LearningRateMonitor "lr-AdamW", Ultralytics' "lr/pg0".
bool IsDerivedLr(absl::string_view key, absl::string_view name) {
  return absl::StartsWith(name, "lr_") && key.size() > 3 && (key[2] == '-' || key[2] == '/') &&
         !absl::StrContains(key, " ");
}

// A value of "grad_norm={'0_default': 3.6, '1_fp32': 0.0}", by the path to it.
bool IsNormOfGroup(absl::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == absl::string_view::npos || dot == 0 || dot + 1 == key.size()) return false;
  const auto found = Names().find(NormalMetricKey(key.substr(0, dot)));
  return found != Names().end() && found->second == LogField::kGradNorm;
}

// The norm over all parameters by a longer name: "optim/total_grad_norm" (OLMo), "train/global_grad_norm".
bool IsDerivedNorm(absl::string_view name) {
  bool norm = false;
  for (absl::string_view end : {"grad_norm", "gradient_norm", "gradnorm", "gnorm"}) {
    norm = absl::ConsumeSuffix(&name, end) || norm;
  }
  if (!norm) return false;
  for (const absl::string_view word : absl::StrSplit(name, '_', absl::SkipEmpty())) {
    const bool of_all = word == "optim" || word == "optimizer" || word == "total" || word == "global" ||
                        word == "train" || word == "training" || word == "trainer" || word == "debug" ||
                        word == "metrics" || word == "overall" || word == "model" || word == "step" || word == "avg" ||
                        word == "mean";
    if (!of_all) return false;
  }
  return true;
}

// The field of a name that is known without the words of an evaluation: "val.top1", "eval/acc".
LogField FieldOfRest(absl::string_view name) {
  if (!StripEvaluationWords(name)) return LogField::kOther;
  const auto found = Names().find(name);
  return found != Names().end() && found->second == LogField::kAccuracy ? LogField::kAccuracy : LogField::kOther;
}

bool IsElse(absl::string_view name) {
  for (absl::string_view what :
       {"packet_loss", "packets_loss", "signal_loss", "frame_loss", "connection_loss", "link_loss"}) {
    if (absl::EndsWith(name, what) && (name.size() == what.size() || name[name.size() - what.size() - 1] == '_')) {
      return true;
    }
  }
  return false;
}

LogKey MakeKey(absl::string_view key) {
  LogKey out;
  const std::string name = NormalMetricKey(key);
  out.evaluation = NamesEvaluationFigure(name);
  out.loss_of_something_else = IsElse(name);
  if (auto found = Names().find(name); found != Names().end()) {
    out.field = found->second;
  } else if (absl::EndsWith(name, "loss") && !out.loss_of_something_else) {
    out.field = out.evaluation ? LogField::kEvalLoss : LogField::kOtherLoss;
    if (out.evaluation) out.eval_order = absl::StrContains(name, "total_loss") ? 0 : 3;
  } else if (NamesLossTerm(key) && !out.loss_of_something_else) {
    out.field = LogField::kLossTerm;
  } else if (IsNormOfGroup(key)) {
    out.field = LogField::kGradNormPart;
  } else if (IsDerivedNorm(name)) {
    out.field = LogField::kGradNorm;
    out.derived = true;
  } else if (IsDerivedLr(key, name)) {
    out.field = LogField::kLr;
    out.derived = true;
  } else if (absl::StartsWith(name, "val") && absl::StrContains(name, "_acc_mean@1")) {  // verl
    out.field = LogField::kAccuracy;
    out.evaluation = true;
  } else if (out.field = FieldOfRest(name); out.field == LogField::kOther && FindEvaluationMetric(key) != nullptr) {
    out.field = LogField::kMetric;
  }
  if (out.eval_order == 1 && absl::StrContains(name, "test")) out.eval_order = 2;
  out.global_step = out.field == LogField::kStep && IsGlobalStep(name);
  out.name = std::make_shared<const std::string>(key);
  return out;
}

constexpr std::size_t kKeysRememberedMax = 4096;
constexpr std::size_t kKeyBytesMax = 128;

}  // namespace

const LogKey& LookUpLogKey(absl::string_view key) {
  thread_local absl::flat_hash_map<std::string, std::unique_ptr<LogKey>> known;
  thread_local LogKey odd;
  if (const auto found = known.find(key); found != known.end()) return *found->second;
  if (key.size() > kKeyBytesMax) {
    odd = MakeKey(key);
    return odd;
  }
  if (known.size() >= kKeysRememberedMax) known.clear();
  return *known.emplace(key, std::make_unique<LogKey>(MakeKey(key))).first->second;
}

bool IsLossOfSomethingElse(absl::string_view key) {
  return LookUpLogKey(key).loss_of_something_else;
}

bool NamesEvaluation(absl::string_view key, absl::string_view value) {
  static constexpr absl::string_view kKeys[] = {"split", "phase", "mode", "stage", "type", "set", "subset", "prefix"};
  static constexpr absl::string_view kParts[] = {"val",        "valid", "validation", "validate", "eval",
                                                 "evaluation", "test",  "testing",    "dev"};
  const auto is_one_of = [](absl::string_view word, absl::Span<const absl::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](absl::string_view one) { return absl::EqualsIgnoreCase(word, one); });
  };
  return is_one_of(key, kKeys) && is_one_of(value, kParts);
}

LogField ClassifyLogKey(absl::string_view key) {
  return LookUpLogKey(key).field;
}

}  // namespace paritect
