// trainer_state.json of the Hugging Face Trainer: `log_history` holds one object a logging step.
// Source: huggingface/transformers src/transformers/trainer_callback.py `TrainerState`.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"

namespace paritect {
namespace {

void AddItem(const DocumentNode& item, RunLogBuilder& out) {
  if (item.Find("train_runtime") != nullptr) {
    out.End(v1::RunEnd::STATE_FINISHED, "train_runtime", item.line);
    return;
  }
  FieldCollector fields;
  fields.SetLine(item.line);
  for (const auto& [key, value] : item.fields) {
    if (absl::EndsWith(key.text, "_runtime") || absl::EndsWith(key.text, "per_second")) continue;
    if (value.is_scalar()) fields.Add(key.text, ReadLogNumber(value.text));
  }
  fields.Finish(out);
  if (!fields.record().has_step) {
    out.Unparsed(item.line, "an item of log_history without a step");
    return;
  }
  out.Add(std::move(fields.record()));
}

std::int64_t WholeField(const DocumentNode& root, absl::string_view key) {
  const DocumentNode* node = root.Find(key);
  if (node == nullptr) return 0;
  const auto value = ParseLogNumber(node->text);
  return value && *value > 0 && *value < 9e15 ? static_cast<std::int64_t>(*value) : 0;
}

void Parse(absl::string_view text, RunLogBuilder& out) {
  DocumentLimits limits;
  limits.bytes_max = 256 << 20;
  limits.nodes_max = 32'000'000;
  auto root = ParseJson(text, limits);
  if (!root.ok()) {
    out.AddNote("not_whole", 0, absl::StrCat("the JSON is damaged or cut off: ", std::string(root.status().message())));
    return;
  }
  const DocumentNode* history = root->Find("log_history");
  if (history == nullptr || !history->is_list()) {
    out.AddNote("no_history", 0, "there is no list `log_history`");
    return;
  }
  out.set_interval_means();
  for (const DocumentNode& item : history->items) {
    if (item.is_map()) AddItem(item, out);
  }
  if (const std::int64_t total = WholeField(*root, "max_steps"); total > 0) out.TotalSteps(total);
}

// One document: lines that are objects of their own are another form, whose last one may repeat the history (ms-swift's
// logging.jsonl).
bool Sniff(const LogHead& head) {
  const std::size_t brace = head.text.find_first_not_of(" \t\n");
  if (!head.first || brace == absl::string_view::npos || head.text[brace] != '{') return false;
  const std::size_t end = std::min(head.text.find('\n', brace), head.text.size());
  const bool lines = IsWholeJsonObject(head.text.substr(brace, end - brace)) &&
                     head.text.find_first_not_of(" \t\n", end) != absl::string_view::npos;
  return !lines && absl::StrContains(head.text, "\"log_history\"");
}

std::unique_ptr<LogParser> Create(TextEncoding encoding) {
  return MakeDocumentParser(encoding, &Parse);
}

}  // namespace

extern const LogFormat kHfTrainerStateLogFormat;
const LogFormat kHfTrainerStateLogFormat = {"hf-trainer-state", &Sniff, &Create};

}  // namespace paritect
