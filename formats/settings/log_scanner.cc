// What logs print of settings, block by block:
//   megatron-args        "--- arguments ---", "  name ..... value", "--- end of arguments ---"; "using world size"
//   deepspeed-json       "DeepSpeedEngine configuration:", dotted lines, "json = { ... }"
//   mllog                ":::MLLOG {...}" POINT_IN_TIME with a value that is not null
//   argparse-namespace   "Namespace(a=1, b=[2, 3])"
//   hf-training-args     the trainer's banner, "TrainingArguments(" and its "name=value," lines
//   apex-options         "Selected optimization level O2", options after the overrides
//   dllogger             "PARAMETER NAME : VALUE", {"step": "PARAMETER", "data": {...}}
//   hydra                the configuration that verl prints as a Python dictionary
// Formats: reference logs of these projects. A block that is cut off keeps what was read.
#include <functional>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/document.h"
#include "common/utf8.h"
#include "formats/settings/builder.h"
#include "formats/settings/readable_text.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kBlockBytesMax = 1 << 20;

// "name ....... value" or "name  value"; false where the line is neither.
bool SplitDotted(absl::string_view line, absl::string_view& key, absl::string_view& value) {
  line = absl::StripTrailingAsciiWhitespace(line);
  std::size_t dots = line.find(" ..");
  std::size_t skip = 1;
  if (dots == absl::string_view::npos) {
    dots = line.find(" . ");
    if (dots == absl::string_view::npos) {
      dots = line.find("  ", line.find_first_not_of(' '));
      skip = 0;
    }
  }
  if (dots == absl::string_view::npos) return false;
  key = absl::StripAsciiWhitespace(line.substr(0, dots));
  if (auto blank = key.rfind(' '); blank != absl::string_view::npos) key = key.substr(blank + 1);
  value = line.substr(dots + skip);
  value.remove_prefix(std::min(value.size(), value.find_first_not_of('.')));
  value = absl::StripAsciiWhitespace(value);
  return !key.empty() && IsIdentifier(key) && !value.empty();
}

// Finds the bracket that closes the first one, over pieces that come one after another; quotes respected, an apostrophe
// inside a word is none.
class BracketFinder {
 public:
  // The place behind the closing bracket; npos: not in this piece.
  std::size_t Feed(absl::string_view piece) {
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const char c = piece[i];
      const char before = last_;
      last_ = c;
      if (escaped_) {
        escaped_ = false;
      } else if (quote_ != 0) {
        escaped_ = c == '\\';
        if (c == quote_) quote_ = 0;
      } else if (c == '"' || (c == '\'' && !absl::ascii_isalnum(static_cast<unsigned char>(before)))) {
        quote_ = c;
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth_;
      } else if ((c == ')' || c == ']' || c == '}') && --depth_ == 0) {
        return i + 1;
      }
    }
    return absl::string_view::npos;
  }

 private:
  int depth_ = 0;
  char quote_ = 0;
  char last_ = 0;
  bool escaped_ = false;
};

// The line without the mark that Ray puts before what a worker prints: "(TaskRunner pid=1234) ".
absl::string_view WithoutWorkerMark(absl::string_view line) {
  if (line.empty() || line[0] != '(') return line;
  const std::size_t end = line.find(") ");
  return end != absl::string_view::npos && absl::StrContains(line.substr(0, end), " pid=") ? line.substr(end + 2)
                                                                                           : line;
}

// The value behind a printed member of an enumeration: "SaveStrategy.STEPS" and "<SaveStrategy.STEPS: 'steps'>" are
// "steps"; "" where the text is none. Members are in capitals and named as their value (Transformers,
// training_args.py).
std::string EnumMember(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const std::size_t colon = text.find(": '");
  if (absl::StartsWith(text, "<") && absl::EndsWith(text, "'>") && colon != absl::string_view::npos &&
      colon + 5 <= text.size()) {
    return std::string(text.substr(colon + 3, text.size() - colon - 5));
  }
  const std::size_t dot = text.find('.');
  if (dot == absl::string_view::npos || !absl::ascii_isupper(static_cast<unsigned char>(text[0])) ||
      !IsIdentifier(text.substr(0, dot)) || !IsIdentifier(text.substr(dot + 1)))
    return "";
  const absl::string_view member = text.substr(dot + 1);
  const bool capitals = std::none_of(member.begin(), member.end(),
                                     [](char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); });
  return capitals ? absl::AsciiStrToLower(member) : "";
}

bool HasWordBefore(absl::string_view line, std::size_t at) {
  return at > 0 && (absl::ascii_isalnum(static_cast<unsigned char>(line[at - 1])) || line[at - 1] == '_');
}

struct BannerPhrase {
  absl::string_view phrase;
  absl::string_view key;
};

constexpr BannerPhrase kBanner[] = {
    {"Num examples = ", "banner.num_examples"},
    {"Num Epochs = ", "banner.num_epochs"},
    {"Instantaneous batch size per device = ", "banner.per_device_batch_size"},
    {"Total train batch size (w. parallel, distributed & accumulation) = ", "banner.total_train_batch_size"},
    {"Gradient Accumulation steps = ", "banner.gradient_accumulation_steps"},
    {"Total optimization steps = ", "banner.total_optimization_steps"},
    {"Number of trainable parameters = ", "banner.trainable_parameters"}};

// Keys of MLLOG that tell what happened, not how it was set.
bool IsMllogEvent(absl::string_view key) {
  for (absl::string_view prefix :
       {"submission_", "eval_", "cache_clear", "weights_initialization", "tracked_stats", "train_loss", "throughput",
        "power_", "sw_", "target_", "epoch_", "samples_", "status"}) {
    if (absl::StartsWith(key, prefix)) return key != "eval_samples";
  }
  return false;
}

}  // namespace

struct LogSettingsScanner::State {
  struct Block {
    std::unique_ptr<SettingsBuilder> builder;
    std::set<std::string> seen;  // keys, where only the first counts
    std::int64_t started_at = 0;
    std::int64_t further = 0;  // later blocks of the same format, left out
    bool closed = false;
  };

  explicit State(absl::string_view file) : label(file) {}

  // The block of a format; nullptr when one was read already and this is another.
  Block* Open(const std::string& format, std::int64_t line) {
    auto [it, fresh] = blocks.try_emplace(format);
    Block& block = it->second;
    if (fresh) {
      block.builder = std::make_unique<SettingsBuilder>(format, "arguments", label);
      block.started_at = line;
      order.push_back(format);
      return &block;
    }
    if (!block.closed) return &block;
    ++block.further;
    return nullptr;
  }

  void AddOnce(const std::string& format, absl::string_view key, absl::string_view value, std::int64_t line) {
    Block* block = Open(format, line);
    if (block != nullptr && block->seen.insert(std::string(key)).second) block->builder->Add(key, value, line);
  }

  // Collects a bracketed text that may run over lines; `done` gets it.
  void Gather(absl::string_view text, std::int64_t line, std::function<void(absl::string_view, std::int64_t)> done) {
    gathered.clear();
    gathered_at = line;
    on_gathered = std::move(done);
    gathering = true;
    brackets = BracketFinder();
    GatherMore(text);
  }

  void GatherMore(absl::string_view text) {
    const std::size_t begin = gathered.size();
    gathered.append(text.data(), text.size());
    const std::size_t end = brackets.Feed(text);
    if (end == absl::string_view::npos) {
      if (gathered.size() > kBlockBytesMax) gathering = false;
      return;
    }
    gathering = false;
    if (on_gathered) on_gathered(absl::string_view(gathered).substr(0, begin + end), gathered_at);
  }

  void Megatron(absl::string_view line, std::int64_t number);
  bool DeepSpeed(absl::string_view line, std::int64_t number);
  void DeepSpeedJson(absl::string_view text, std::int64_t number);
  void Mllog(absl::string_view line, std::int64_t number, std::size_t at);
  void Arguments(absl::string_view text, std::int64_t number, const std::string& format);
  void PrintedConfig(absl::string_view text, std::int64_t number);
  void Banner(absl::string_view line, std::int64_t number);
  void WorldSizes(absl::string_view line, std::int64_t number);
  void ProcessLine(absl::string_view line, std::int64_t number);
  void Replaced(absl::string_view line, std::int64_t number);
  void ReplaceIn(v1::SettingsDocument& document) const;
  bool Apex(absl::string_view line, std::int64_t number);
  void DlloggerLine(absl::string_view line, std::int64_t number);
  void DlloggerJson(absl::string_view line, std::int64_t number);
  void Line(absl::string_view line, std::int64_t number);

  std::string label;
  std::map<std::string, Block> blocks;
  std::vector<std::string> order;

  Block* megatron = nullptr;
  bool in_megatron = false;
  bool in_deepspeed = false;
  Block* deepspeed = nullptr;
  bool in_apex = false;
  Block* apex = nullptr;
  std::map<std::string, std::pair<std::string, std::int64_t>> apex_options;

  // What Megatron says counts instead of its arguments: key -> value and line.
  std::map<std::string, std::pair<std::string, std::int64_t>> replaced;

  bool gathering = false;
  BracketFinder brackets;
  std::string gathered;
  std::int64_t gathered_at = 0;
  std::function<void(absl::string_view, std::int64_t)> on_gathered;
};

void LogSettingsScanner::State::Megatron(absl::string_view line, std::int64_t number) {
  if (absl::StrContains(line, "- end of arguments -")) {
    in_megatron = false;
    if (megatron != nullptr) megatron->closed = true;
    return;
  }
  absl::string_view key, value;
  if (megatron != nullptr && SplitDotted(line, key, value) && megatron->seen.insert(std::string(key)).second) {
    megatron->builder->Add(key, value, number);
  }
}

// True where the line belonged to the dump.
bool LogSettingsScanner::State::DeepSpeed(absl::string_view line, std::int64_t number) {
  const std::size_t print = line.find(":print]");
  const std::size_t user = line.find(":print_user_config]");
  if (user != absl::string_view::npos) {
    const std::size_t open = line.find("json = {", user);
    if (open != absl::string_view::npos) {
      Gather(line.substr(open + 7), number,
             [this](absl::string_view text, std::int64_t at) { DeepSpeedJson(text, at); });
    }
    in_deepspeed = false;
    return true;
  }
  if (print == absl::string_view::npos) return false;
  const absl::string_view rest = line.substr(print + 7);
  absl::string_view key, value;
  if (!SplitDotted(rest, key, value)) return true;
  if (value == "{") {
    Gather(value, number, nullptr);
  } else if (deepspeed != nullptr && deepspeed->seen.insert(std::string(key)).second) {
    deepspeed->builder->Add(key, value, number);
  }
  return true;
}

void LogSettingsScanner::State::DeepSpeedJson(absl::string_view text, std::int64_t number) {
  if (deepspeed == nullptr || deepspeed->closed) return;
  deepspeed->closed = true;
  auto root = ParseJson(text);
  if (!root.ok() || !root->is_map()) {
    deepspeed->builder->AddNote("unreadable_block", number, "the printed JSON configuration cannot be read");
    return;
  }
  // Keys of the dump itself stand already; the JSON adds the nested ones.
  for (auto field = root->fields.begin(); field != root->fields.end();) {
    field = deepspeed->seen.contains(field->first.text) ? root->fields.erase(field) : std::next(field);
  }
  deepspeed->builder->AddTree("", *root, number - 1);
}

void LogSettingsScanner::State::Mllog(absl::string_view line, std::int64_t number, std::size_t at) {
  if (absl::StrContains(line, "INTERVAL_")) return;
  auto root = ParseJson(line.substr(at, line.rfind('}') == absl::string_view::npos ? 0 : line.rfind('}') + 1 - at));
  if (!root.ok()) return;
  const DocumentNode* key = root->Find("key");
  const DocumentNode* value = root->Find("value");
  if (key == nullptr || value == nullptr || !value->is_scalar() || IsMllogEvent(key->text)) return;
  if (value->quoted) {
    Block* block = Open("mllog", number);
    if (block->seen.insert(key->text).second) block->builder->AddText(key->text, value->text, number);
    return;
  }
  AddOnce("mllog", key->text, value->text, number);
}

// "Name(a=1, b=[2])", brackets included.
void LogSettingsScanner::State::Arguments(absl::string_view text, std::int64_t number, const std::string& format) {
  Block* block = Open(format, number);
  if (block == nullptr) return;
  // Every part's line is where its text stands.
  const absl::string_view inside = text.substr(1, text.size() - 2);
  for (absl::string_view part : SplitOutsideBrackets(inside, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == absl::string_view::npos || !IsIdentifier(absl::StripAsciiWhitespace(part.substr(0, equals))))
      continue;
    const auto lines_before = std::count(inside.data(), part.data(), '\n');
    const absl::string_view key = absl::StripAsciiWhitespace(part.substr(0, equals));
    if (!block->seen.insert(std::string(key)).second) continue;
    v1::Setting* setting = block->builder->Add(key, part.substr(equals + 1), number + lines_before);
    const std::string member = setting == nullptr ? "" : EnumMember(setting->value().text());
    if (!member.empty()) setting->mutable_value()->set_text(member);
  }
  if (format == "argparse-namespace" || format == "hf-training-args") block->closed = true;
}

// verl prints its composed configuration as a Python dictionary.
void LogSettingsScanner::State::PrintedConfig(absl::string_view text, std::int64_t number) {
  Block* block = Open("hydra", number);
  if (block == nullptr) return;
  block->closed = true;
  DocumentLimits limits;
  limits.nodes_max = 100'000;
  auto root = ParseYaml(text, limits);  // quotes of either kind; None and True are texts that ValueOfText knows
  if (root.ok() && root->is_map()) {
    block->builder->AddTree("", *root, number - 1);
  } else {
    block->builder->AddNote("unreadable_block", number, "the printed configuration cannot be read");
  }
}

void LogSettingsScanner::State::Banner(absl::string_view line, std::int64_t number) {
  for (const BannerPhrase& one : kBanner) {
    const std::size_t at = line.find(one.phrase);
    if (at == absl::string_view::npos) continue;
    const std::string value =
        absl::StrReplaceAll(absl::StripAsciiWhitespace(line.substr(at + one.phrase.size())), {{",", ""}});
    AddOnce("hf-banner", one.key, value, number);
  }
}

void LogSettingsScanner::State::WorldSizes(absl::string_view line, std::int64_t number) {
  const std::size_t at = line.find("using world size:");
  for (absl::string_view part : absl::StrSplit(line.substr(at + 6), ',')) {
    const std::vector<absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits(':', 1));
    if (pair.size() != 2) continue;
    const std::string key =
        absl::StrReplaceAll(absl::AsciiStrToLower(absl::StripAsciiWhitespace(pair[0])), {{" ", "_"}, {"-", "_"}});
    absl::string_view value = absl::StripAsciiWhitespace(pair[1]);
    AddOnce("megatron-sizes", key, value.substr(0, value.find(' ')), number);
  }
}

// "Process rank: 0, device: npu:0, n_gpu: 1, distributed training: False, 16-bits training: True" of the examples of
// Transformers, "Process rank: 0, world size: 8, ..., compute dtype: torch.bfloat16" of LLaMA-Factory: what the
// arguments came to. One process with one device is a world of one. Some versions print no blank behind "n_gpu: 1".
// Source: transformers examples/pytorch/*/run_*.py; LLaMA-Factory src/llamafactory/hparams/parser.py.
void LogSettingsScanner::State::ProcessLine(absl::string_view line, std::int64_t number) {
  const auto behind = [&](absl::string_view phrase) {
    const std::size_t at = line.find(phrase);
    if (at == absl::string_view::npos) return absl::string_view();
    const absl::string_view value = line.substr(at + phrase.size());
    return value.substr(0, value.find_first_of(", \t"));
  };
  for (const BannerPhrase& one : {BannerPhrase{"compute dtype: ", "banner.compute_dtype"},
                                  BannerPhrase{"16-bits training: ", "banner.fp16"},
                                  BannerPhrase{"world size: ", "banner.world_size"}}) {
    const absl::string_view value = behind(one.phrase);
    if (!value.empty() && value != "None") AddOnce("hf-banner", one.key, value, number);
  }
  const absl::string_view devices = behind("n_gpu: ");
  if (behind("distributed training: ") == "False" && (devices == "1" || devices == "1distributed")) {
    AddOnce("hf-banner", "banner.world_size", "1", number);
  }
}

// A resumed run of Megatron takes what the checkpoint holds, or puts the arguments over it, and says so:
// "> using checkpoint value 1e-05 for learning rate", "> overriding learning rate value to 0.0001". Source:
// NVIDIA/Megatron-LM megatron/core/optimizer_param_scheduler.py, `_check_and_set`.
void LogSettingsScanner::State::Replaced(absl::string_view line, std::int64_t number) {
  static constexpr BannerPhrase kNames[] = {{"learning rate", "lr"},
                                            {"minimum learning rate", "min_lr"},
                                            {"learning rate decay style", "lr_decay_style"},
                                            {"start weight decay", "start_weight_decay"},
                                            {"end weight decay", "end_weight_decay"},
                                            {"weight decay incr style", "weight_decay_incr_style"}};
  absl::string_view name, value;
  if (const std::size_t at = line.find("> using checkpoint value "); at != absl::string_view::npos) {
    value = line.substr(at + 25);
    const std::size_t divider = value.find(" for ");
    if (divider == absl::string_view::npos) return;
    name = value.substr(divider + 5);
    value = value.substr(0, divider);
  } else if (const std::size_t over = line.find("> overriding "); over != absl::string_view::npos) {
    name = line.substr(over + 13);
    const std::size_t divider = name.find(" value to ");
    if (divider == absl::string_view::npos) return;
    value = name.substr(divider + 10);
    name = name.substr(0, divider);
  } else {
    return;
  }
  for (const BannerPhrase& one : kNames) {
    if (absl::StripAsciiWhitespace(name) != one.phrase) continue;
    replaced.try_emplace(std::string(one.key), std::string(absl::StripAsciiWhitespace(value)), number);
  }
}

void LogSettingsScanner::State::ReplaceIn(v1::SettingsDocument& document) const {
  for (v1::Setting& setting : *document.mutable_settings()) {
    const auto found = replaced.find(setting.raw_key());
    if (found == replaced.end() || setting.raw_value() == found->second.first) continue;
    v1::Note& note = *document.add_notes();
    note.set_kind("replaced_on_resume");
    note.set_line(found->second.second);
    note.set_message(StrCat(setting.raw_key(), ": the argument ", setting.raw_value(),
                            " did not count, the run went on with ", found->second.first));
    setting.set_raw_value(found->second.first);
    *setting.mutable_value() = ValueOfText(found->second.first);
    setting.set_origin(StrCat(label, ":", found->second.second));
  }
}

// True where the line belonged to apex's block.
bool LogSettingsScanner::State::Apex(absl::string_view line, std::int64_t number) {
  if (absl::StrContains(line, "Selected optimization level O")) {
    apex = Open("apex-options", number);
    in_apex = apex != nullptr;
    return true;
  }
  if (!in_apex) return false;
  if (absl::StrContains(line, "Defaults for this optimization level") ||
      absl::StrContains(line, "Processing user overrides") || absl::StrContains(line, "After processing overrides")) {
    return true;
  }
  const std::size_t colon = line.find(" : ");
  const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, colon));
  if (colon == absl::string_view::npos || !IsIdentifier(key)) {
    in_apex = false;
    return false;
  }
  // The options after the overrides are printed last: they count.
  apex_options[std::string(key)] = {std::string(absl::StripAsciiWhitespace(line.substr(colon + 3))), number};
  return true;
}

void LogSettingsScanner::State::DlloggerLine(absl::string_view line, std::int64_t number) {
  absl::string_view rest = line.substr(line.find("PARAMETER ") + 10);
  // "HP3 : 1  HP4 : 2": names and values are parted by " : ", pairs by blanks.
  std::vector<absl::string_view> words = absl::StrSplit(rest, ' ', absl::SkipEmpty());
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i + 1] != ":") continue;
    std::size_t end = i + 3;
    while (end < words.size() && !(end + 1 < words.size() && words[end + 1] == ":")) ++end;
    const char* start = words[i + 2].data();
    const char* stop = words[end - 1].data() + words[end - 1].size();
    AddOnce("dllogger", words[i], absl::string_view(start, static_cast<std::size_t>(stop - start)), number);
    i = end - 1;
  }
}

void LogSettingsScanner::State::DlloggerJson(absl::string_view line, std::int64_t number) {
  auto root = ParseJson(line.substr(line.find('{')));
  if (!root.ok()) return;
  const DocumentNode* data = root->Find("data");
  if (data == nullptr || !data->is_map()) return;
  if (Block* block = Open("dllogger", number)) block->builder->AddTree("", *data, number - 1);
}

// A search for what begins with a blank would stop at each blank of the line.
static bool HasBehindBlank(absl::string_view line, absl::string_view text) {
  for (std::size_t at = line.find(text); at != absl::string_view::npos; at = line.find(text, at + 1)) {
    if (at > 0 && line[at - 1] == ' ') return true;
  }
  return false;
}

void LogSettingsScanner::State::Line(absl::string_view line, std::int64_t number) {
  if (gathering) return GatherMore(absl::StrCat("\n", WithoutWorkerMark(line)));
  if (in_megatron) return Megatron(line, number);
  if (in_deepspeed && DeepSpeed(line, number)) return;
  if (Apex(line, number)) return;
  if (absl::StrContains(line, "--- arguments ---")) {
    megatron = Open("megatron-args", number);
    in_megatron = true;
  } else if (absl::StrContains(line, "DeepSpeedEngine configuration:")) {
    deepspeed = Open("deepspeed-json", number);
    in_deepspeed = true;
  } else if (absl::StrContains(line, ":::ML")) {
    const std::size_t at = line.find('{');
    if (at != absl::string_view::npos) Mllog(line, number, at);
  } else if (const std::size_t at = line.find("Namespace(");
             at != absl::string_view::npos && !HasWordBefore(line, at)) {
    Gather(line.substr(at + 9), number,
           [this](absl::string_view t, std::int64_t n) { Arguments(t, n, "argparse-namespace"); });
  } else if (const std::size_t args = line.find("TrainingArguments("); args != absl::string_view::npos) {
    Gather(line.substr(args + 17), number,
           [this](absl::string_view t, std::int64_t n) { Arguments(t, n, "hf-training-args"); });
  } else if (const absl::string_view printed = WithoutWorkerMark(line);
             absl::StartsWith(printed, "{'actor_rollout_ref'")) {
    Gather(printed, number, [this](absl::string_view t, std::int64_t n) { PrintedConfig(t, n); });
  } else if (absl::StrContains(line, "using world size:")) {
    WorldSizes(line, number);
  } else if (absl::StrContains(line, "PARAMETER ") && absl::StrContains(line, " : ")) {
    DlloggerLine(line, number);
  } else if (absl::StrContains(line, "DLLL {") && absl::StrContains(line, "\"PARAMETER\"")) {
    DlloggerJson(line, number);
  } else if (HasBehindBlank(line, "= ")) {
    Banner(line, number);
  } else if (absl::StrContains(line, "distributed training: ")) {
    ProcessLine(line, number);
  } else if (HasBehindBlank(line, "value ")) {
    Replaced(line, number);
  }
}

LogSettingsScanner::LogSettingsScanner(absl::string_view label) : state_(std::make_unique<State>(label)) {}
LogSettingsScanner::~LogSettingsScanner() = default;

void LogSettingsScanner::Feed(absl::string_view line, std::int64_t line_number) {
  if (IsValidUtf8(line)) return state_->Line(line, line_number);
  state_->Line(ReadableLine(line), line_number);
}

std::vector<v1::SettingsDocument> LogSettingsScanner::Finish() {
  if (state_->apex != nullptr) {
    for (const auto& [key, option] : state_->apex_options) state_->apex->builder->Add(key, option.first, option.second);
  }
  std::vector<v1::SettingsDocument> documents;
  for (const std::string& format : state_->order) {
    State::Block& block = state_->blocks[format];
    if (block.further > 0) {
      block.builder->AddNote("further_settings", block.started_at,
                             StrCat(block.further, " later block(s) of this format were left out; the first counts"));
    }
    if (block.builder->empty()) continue;
    documents.push_back(block.builder->Finish());
    if (format == "megatron-args") state_->ReplaceIn(documents.back());
    // Blocks of their own here, the contract's words outside.
    if (format == "megatron-sizes") documents.back().set_format("megatron-args");
    if (format == "hf-banner") documents.back().set_format("hf-trainer-stdout");
  }
  state_ = std::make_unique<State>(state_->label);
  return documents;
}

}  // namespace paritect
