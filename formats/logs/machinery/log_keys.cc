#include "formats/logs/machinery/log_keys.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "rules/evaluation_words.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

// In the order of kLogFieldWords.
constexpr LogField kFields[] = {
    LogField::kStep,      LogField::kBatch,     LogField::kTotalSteps, LogField::kEpoch,     LogField::kSamples,
    LogField::kRank,      LogField::kTotalLoss, LogField::kLmLoss,     LogField::kTrainLoss, LogField::kLoss,
    LogField::kMeanLoss,  LogField::kEvalLoss,  LogField::kLr,         LogField::kGradNorm,  LogField::kSkippedTotal,
    LogField::kLossScale, LogField::kAccuracy,  LogField::kOverflow,
};
static_assert(std::size(kFields) == std::size(kLogFieldWords));

const absl::flat_hash_map<absl::string_view, LogField>& Names() {
  static const auto* const kNames = [] {
    auto* names = new absl::flat_hash_map<absl::string_view, LogField>;
    for (const auto& [name, word] : LogFieldNames()) {
      for (std::size_t i = 0; i < std::size(kFields); ++i) {
        if (kLogFieldWords[i] == word) names->emplace(name, kFields[i]);
      }
    }
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
  out.summed = NamesSummedTerm(key);
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

bool NamesEvaluation(absl::string_view key, absl::string_view value) {
  const std::vector<std::string>& fields = BuiltInEvaluationWords().row_fields;
  const bool says = std::any_of(fields.begin(), fields.end(),
                                [&](const std::string& field) { return absl::EqualsIgnoreCase(key, field); });
  if (!says) return false;
  const std::string word = absl::AsciiStrToLower(value);
  return IsEvaluationSplit(word) || TellsOfEvaluation(word);
}

LogField ClassifyLogKey(absl::string_view key) {
  return LookUpLogKey(key).field;
}

}  // namespace paritect
