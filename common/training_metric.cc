#include "common/training_metric.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/evaluation_metric.h"

namespace paritect {
namespace {

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Words beside "loss" that make it another quantity.
bool IsAboutLoss(absl::string_view word) {
  return IsOneOf(word,
                 {"scale",  "scaler", "scaling", "weight", "weights", "coef",       "coeff", "coefficient", "mask",
                  "count",  "num",    "tokens",  "time",   "std",     "var",        "fn",    "func",        "type",
                  "packet", "frame",  "signal",  "link",   "packets", "connection", "hook",  "window"});
}

bool IsLossWord(absl::string_view word) {
  // YOLO's: "lbox", "lobj", "lcls".
  return absl::EndsWith(word, "loss") || word == "losses" || absl::StrContains(word, "损失") ||
         IsOneOf(word, {"lbox", "lobj", "lcls", "ldfl", "lmask", "lseg", "lpose"});
}

}  // namespace

bool NamesLossTerm(absl::string_view key) {
  const std::string normal = NormalMetricKey(key);
  bool found = false;
  for (const absl::string_view word : absl::StrSplit(normal, absl::ByAnyChar("_:@ "))) {
    if (IsAboutLoss(word) || absl::StrContains(word, "缩放")) return false;
    found = found || IsLossWord(word);
  }
  return found;
}

bool NamesGradientNorm(absl::string_view key) {
  const std::string normal = NormalMetricKey(key);
  if (absl::StrContains(normal, "梯度") && absl::StrContains(normal, "范数")) return true;
  bool gradient = false;
  bool norm = false;
  for (const absl::string_view word : absl::StrSplit(normal, '_')) {
    if (IsOneOf(word, {"gnorm", "gradnorm"})) return true;
    if (IsOneOf(word, {"max", "clip", "clipping", "coef", "threshold"})) return false;
    gradient = gradient || IsOneOf(word, {"grad", "grads", "gradient", "gradients"});
    norm = norm || IsOneOf(word, {"norm", "norms"});
  }
  return gradient && norm;
}

bool NamesEvaluationFigure(absl::string_view key) {
  const std::string normal = NormalMetricKey(key);
  for (const absl::string_view word : {"val_", "valid_", "validation_", "eval_", "test_", "dev_", "evaluation_"}) {
    if (absl::StartsWith(normal, word) || absl::StrContains(normal, absl::StrCat("_", word))) return true;
  }
  absl::string_view rest = normal;
  return StripEvaluationWords(rest) || absl::StartsWith(normal, "验证") || absl::StartsWith(normal, "测试") ||
         absl::StartsWith(normal, "评估");
}

}  // namespace paritect
