#include "formats/logs/machinery/evaluation_modes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "formats/logs/machinery/evaluation_lines.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "rules/evaluation_words.h"

namespace paritect {
namespace {

using Mode = EvaluationTold::Mode;

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A word, path or number of the line, with what stands before it up to the token before.
struct Token {
  absl::string_view text;
  absl::string_view before;
  std::string lower;
};

bool IsTokenByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) || byte >= 0x80 || c == '_' || c == '.' || c == '@' || c == '/' || c == '\\' ||
         c == '-' || c == '+';
}

std::vector<Token> TokensOf(absl::string_view line) {
  constexpr std::size_t kTokensMax = 200;
  std::vector<Token> tokens;
  std::size_t end_of_last = 0;
  for (std::size_t i = 0; i < line.size() && tokens.size() < kTokensMax;) {
    if (!IsTokenByte(line[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < line.size() && IsTokenByte(line[i])) ++i;
    std::size_t end = i;
    while (end > begin + 1 && (line[end - 1] == '.' || line[end - 1] == '-')) --end;
    const absl::string_view text = line.substr(begin, end - begin);
    tokens.push_back({text, line.substr(end_of_last, begin - end_of_last), absl::AsciiStrToLower(text)});
    end_of_last = end;
  }
  return tokens;
}

// "cfg.model.training" -> "training"
absl::string_view LastPart(absl::string_view key) {
  const std::size_t point = key.find_last_of("./");
  return point == absl::string_view::npos ? key : key.substr(point + 1);
}

bool IsValueOf(const Token& value) {
  return HoldsOneOf(value.before, {"=", ":"});
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE%") == absl::string_view::npos &&
         text.find_first_of("0123456789") != absl::string_view::npos;
}

bool IsInteger(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// "true", "1" and their like; nullopt: no truth value.
std::optional<bool> TruthOf(absl::string_view word) {
  if (IsOneOf(word, {"true", "1", "on", "yes"})) return true;
  if (IsOneOf(word, {"false", "0", "off", "no"})) return false;
  return std::nullopt;
}

bool NamesWeights(absl::string_view lower) {
  for (absl::string_view ending :
       {".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".pdparams", ".h5", ".npz", ".msgpack"}) {
    if (absl::EndsWith(lower, ending) && lower.size() > ending.size()) return true;
  }
  const absl::string_view name = LastPart(lower);
  const bool has_digit = name.find_first_of("0123456789") != absl::string_view::npos;
  return has_digit && (absl::StartsWith(name, "ckpt") || absl::StartsWith(name, "checkpoint") ||
                       absl::StartsWith(name, "global_step") || absl::StartsWith(name, "iter_"));
}

bool IsWeightsKey(absl::string_view lower) {
  return IsOneOf(LastPart(lower), {"checkpoint", "ckpt", "checkpoint_path", "ckpt_path", "model_path", "weights",
                                   "load_from", "权重", "检查点"});
}

// What a line says of the mode and the weights, and the tokens that say so.
struct Told {
  Mode mode = Mode::kUnknown;
  absl::string_view checkpoint;
  std::vector<bool> used;
  bool evaluates = false;       // a word of an evaluation stands by itself
  bool names_training = false;  // ... or of training, beside what tells the mode
};

void Use(Told& told, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) told.used[i] = true;
}

Mode ModeOfWord(absl::string_view word) {
  if (IsOneOf(word, {"train", "training", "train_mode"})) return Mode::kTraining;
  if (IsOneOf(word, {"eval", "evaluation", "evaluating", "inference", "eval_mode"})) return Mode::kEvaluation;
  return Mode::kUnknown;
}

// "mode=train", "training: False", "train mode", "model.eval()"; the number of tokens that say so, 0: none.
std::size_t ReadMode(const std::vector<Token>& tokens, std::size_t i, Mode& mode) {
  const absl::string_view key = LastPart(tokens[i].lower);
  const bool has_next = i + 1 < tokens.size();
  const bool has_value = has_next && IsValueOf(tokens[i + 1]);
  if (has_value && IsOneOf(key, {"mode", "model_mode", "模式"})) {
    mode = ModeOfWord(tokens[i + 1].lower);
    return 2;
  }
  const bool of_training = IsOneOf(key, {"training", "is_training", "train_mode", "training_mode"});
  if (has_value && (of_training || IsOneOf(key, {"eval_mode", "is_eval"}))) {
    const std::optional<bool> truth = TruthOf(tokens[i + 1].lower);
    if (truth.has_value()) mode = *truth == of_training ? Mode::kTraining : Mode::kEvaluation;
    return truth.has_value() ? 2 : 0;
  }
  const Mode named = ModeOfWord(tokens[i].lower);
  if (named != Mode::kUnknown && has_next && tokens[i + 1].lower == "mode" &&
      IsOneOf(tokens[i + 1].before, {" ", "-"})) {
    mode = named;
    return 2;
  }
  if (IsOneOf(tokens[i].lower, {"model.train", "net.train"})) mode = Mode::kTraining;
  if (IsOneOf(tokens[i].lower, {"model.eval", "net.eval"})) mode = Mode::kEvaluation;
  if (HoldsOneOf(tokens[i].text, {"训练模式"})) mode = Mode::kTraining;
  if (HoldsOneOf(tokens[i].text, {"评估模式", "推理模式", "验证模式"})) mode = Mode::kEvaluation;
  const bool said = mode != Mode::kUnknown;
  if (HoldsOneOf(tokens[i].lower, {"training-mode", "train-mode"})) mode = Mode::kTraining;
  if (HoldsOneOf(tokens[i].lower, {"eval-mode", "evaluation-mode"})) mode = Mode::kEvaluation;
  return said || mode != Mode::kUnknown ? 1 : 0;
}

bool IsEvaluationToken(absl::string_view lower) {
  const std::vector<std::string>& signs = BuiltInEvaluationWords().signs;
  return TellsOfEvaluation(lower) || std::find(signs.begin(), signs.end(), lower) != signs.end();
}

Told ReadTokens(const std::vector<Token>& tokens) {
  Told told;
  told.used.resize(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (told.used[i]) continue;
    Mode mode = Mode::kUnknown;
    if (const std::size_t count = ReadMode(tokens, i, mode); count > 0) {
      Use(told, i, i + count - 1);
      if (mode != Mode::kUnknown) told.mode = mode;
      continue;
    }
    const std::string& lower = tokens[i].lower;
    if (i + 1 < tokens.size() && IsWeightsKey(lower) && !IsNumber(tokens[i + 1].text)) {
      if (told.checkpoint.empty()) told.checkpoint = tokens[i + 1].text;
      Use(told, i, i + 1);
    } else if (NamesWeights(lower)) {
      if (told.checkpoint.empty()) told.checkpoint = tokens[i].text;
      Use(told, i, i);
    } else if (IsEvaluationToken(lower)) {
      told.evaluates = true;
    } else if (IsOneOf(lower, {"train", "training", "训练"})) {
      told.names_training = true;
    }
  }
  return told;
}

// The result's name with the words that stand beside it: two results are of one thing where these are one. Values,
// times and dates do not count; a number behind a word does ("fold 2").
std::string AboutOf(const std::vector<Token>& tokens, const Told& told) {
  constexpr std::size_t kBytesMax = 160;
  std::string about;
  for (std::size_t i = 0; i < tokens.size() && about.size() < kBytesMax; ++i) {
    if (told.used[i]) continue;
    if (IsInteger(tokens[i].text)) {
      const bool behind_word = i > 0 && absl::ascii_isalpha(static_cast<unsigned char>(tokens[i - 1].text.back())) &&
                               IsOneOf(tokens[i].before, {" ", "=", ": ", "#", " #"});
      const bool is_time = i + 1 < tokens.size() && absl::StartsWith(tokens[i + 1].before, ":");
      const LogField field = i > 0 ? ClassifyLogKey(tokens[i - 1].text) : LogField::kOther;
      if (!behind_word || is_time || field != LogField::kOther) continue;
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(tokens[i].text.front())) || IsNumber(tokens[i].text)) {
      continue;
    }
    absl::StrAppend(&about, about.empty() ? "" : " ", tokens[i].text);
  }
  return about;
}

// A line of training gives more than a result: its rate, its gradient, a step with a loss.
bool IsTraining(const LogRecord& record, bool has_loss_key, bool evaluates) {
  const StepValues& values = record.values;
  return values.has_lr() || values.has_grad_norm() || values.has_loss_scale() ||
         (has_loss_key && record.has_step && !evaluates);
}

// A cheap look before all else: most lines hold none of these.
bool MayTellOfWeights(absl::string_view line) {
  return HoldsOneOf(line,
                    {"mode", "Mode", "MODE", "raining", "ckpt", "heckpoint", "CKPT", ".pt", ".bin", ".safet", ".h5",
                     ".npz", ".pdparams", ".eval()", ".train()", "模式", "权重", "检查点", "global_step"}) &&
         (MayEvaluate(line) || HoldsOneOf(line, {"oss"}));
}

}  // namespace

std::vector<EvaluationTold> EvaluationsTold(absl::string_view line) {
  std::vector<EvaluationTold> result;
  if (!MayTellOfWeights(line) || HoldsOneOf(line, {"Namespace(", " --"})) return result;
  const std::vector<Token> tokens = TokensOf(line);
  const Told told = ReadTokens(tokens);
  if ((told.checkpoint.empty() && told.mode == Mode::kUnknown) || told.names_training) return result;
  if (!told.evaluates && told.checkpoint.empty()) return result;
  FieldCollector fields;
  std::int64_t total = 0;
  CollectPlainFields(line, fields, total);
  RunLogBuilder scratch;
  if (IsTraining(fields.record(), fields.has_loss_key(), told.evaluates) || fields.spliced()) return result;
  fields.Finish(scratch);
  fields.MarkEvaluation();
  const std::string about = AboutOf(tokens, told);
  const auto add = [&](absl::string_view name, double value) {
    result.push_back({told.mode, std::string(told.checkpoint.substr(0, 256)),
                      absl::StrCat(name, about.empty() ? "" : " in: ", about), value});
  };
  const StepValues& values = fields.record().values;
  if (values.has_accuracy()) add("accuracy", values.accuracy());
  if (values.has_eval_loss()) add("loss", values.eval_loss());
  for (const auto& [name, value] : values.metrics().entries()) add(*name, value);
  return result;
}

namespace {

// Names that are written over as the training goes on: other weights under one name.
bool IsMovingName(absl::string_view lower) {
  return HoldsOneOf(lower, {"last", "latest", "best", "current", "final", "tmp", "temp", "ema"});
}

// "ckpt_0040", "epoch3.pt", "global_step500": a number of the training, not of a model ("resnet50.pth").
bool IsNumberedName(absl::string_view lower) {
  const absl::string_view name = lower.substr(lower.find_last_of("/\\") + 1);
  for (absl::string_view word : {"epoch", "step", "iter", "ckpt", "checkpoint", "ep"}) {
    for (std::size_t at = name.find(word); at != absl::string_view::npos; at = name.find(word, at + 1)) {
      const std::size_t digit = name.find_first_not_of("-_= .", at + word.size());
      if (digit != absl::string_view::npos && absl::ascii_isdigit(static_cast<unsigned char>(name[digit]))) return true;
    }
  }
  return false;
}

}  // namespace

void EvaluationNotes::CountLosses(RunLogBuilder& out) {
  RecordList<LogRecord>& entries = out.entries();
  if (entries.size() < looked_at_) {  // thinned: what was looked at is gone
    looked_at_ = entries.size();
    ++losses_;
  }
  for (; looked_at_ < entries.size(); ++looked_at_) losses_ += entries[looked_at_].values.has_loss() ? 1 : 0;
}

void EvaluationNotes::Take(const LogLine& line, RunLogBuilder& out) {
  constexpr std::size_t kSeenMax = 10'000;
  constexpr double kSame = 1e-4;  // relative: one sample of ten thousand is more
  if (line.piece || out.is_live()) return;
  const std::vector<EvaluationTold> told = EvaluationsTold(line.text);
  if (!told.empty()) CountLosses(out);
  for (const EvaluationTold& one : told) {
    const std::string result = absl::StrCat(one.about, " of ", one.checkpoint.empty() ? "?" : one.checkpoint);
    if (one.mode == Mode::kTraining) out.AddNote("evaluated_in_training_mode", line.number, result);
    if (one.mode == Mode::kEvaluation) out.AddNote("evaluated_in_evaluation_mode", line.number, result);
    if (one.checkpoint.empty() || !std::isfinite(one.value)) continue;
    const Seen now = {one.value, line.number, losses_};
    const auto [it, added] = seen_.try_emplace(absl::StrCat(line.rank.value_or(-1), " ", result), now);
    if (added && seen_.size() > kSeenMax) seen_.erase(it);
    if (added || std::fabs(it->second.value - one.value) <= kSame * std::fabs(one.value)) continue;
    // Of the same weights: no training between them in the log of the training, or a name that tells the place in it.
    const std::string lower = absl::AsciiStrToLower(one.checkpoint);
    const bool same = losses_ == 0 ? IsNumberedName(lower) && !IsMovingName(lower) : losses_ == it->second.losses;
    if (same) {
      out.AddNote("evaluation_not_repeated", line.number,
                  absl::StrCat(result, ": ", FormatDouble(it->second.value), " on line ", it->second.line, ", ",
                               FormatDouble(one.value), " on line ", line.number));
    }
    it->second = now;
  }
}

bool NamesEvaluatedWeights(absl::string_view line) {
  const std::vector<EvaluationTold> told = EvaluationsTold(line);
  return !told.empty() && !told.front().checkpoint.empty();
}

}  // namespace paritect
