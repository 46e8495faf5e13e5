// Megatron's golden values ({metric: {start_step, end_step, step_interval, values}}) and MindSpeed-LLM's arrays of
// equal length
// ({"lm loss": [...], "grad norm": [...]}): what their tests keep of a run.
// Source: NVIDIA/Megatron-LM tests/functional_tests, Ascend/MindSpeed-LLM tests.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/numbers.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/series_table.h"

namespace paritect {
namespace {

std::int64_t Whole(const DocumentNode& node, absl::string_view key, std::int64_t otherwise) {
  const DocumentNode* found = node.Find(key);
  return found == nullptr ? otherwise : ParseInt(found->text).value_or(otherwise);
}

void AddGolden(absl::string_view metric, const DocumentNode& series, SeriesTable& table) {
  const DocumentNode* values = series.Find("values");
  if (values == nullptr) return;
  for (const auto& [step, value] : values->fields) {
    const auto number = ParseInt(step.text);
    const auto parsed = ParseLogNumber(value.text);
    if (number && parsed) table.Add(*number, metric, *parsed);
  }
  const std::int64_t start = Whole(series, "start_step", 1);
  const std::int64_t interval = std::max<std::int64_t>(Whole(series, "step_interval", 1), 1);
  for (std::size_t i = 0; i < values->items.size(); ++i) {
    if (auto parsed = ParseLogNumber(values->items[i].text))
      table.Add(start + static_cast<std::int64_t>(i) * interval, metric, *parsed);
  }
}

void AddArray(absl::string_view metric, const DocumentNode& list, SeriesTable& table) {
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (!list.items[i].is_scalar()) return;
    if (auto parsed = ParseLogNumber(list.items[i].text)) table.Add(static_cast<std::int64_t>(i) + 1, metric, *parsed);
  }
}

// Arrays count where one of them is a loss and they are equally long.
bool IsArrays(const DocumentNode& root) {
  for (const auto& [key, value] : root.fields) {
    if (value.is_list() && IsTrainingLoss(ClassifyLogKey(key.text))) return true;
  }
  return false;
}

void Parse(absl::string_view text, RunLogBuilder& out) {
  auto root = ParseJson(text);
  if (!root.ok()) {
    out.AddNote("not_whole", 0, absl::StrCat("the JSON is damaged or cut off: ", std::string(root.status().message())));
    return;
  }
  SeriesTable table;
  std::size_t length = 0;
  const bool arrays = IsArrays(*root);
  for (const auto& [key, value] : root->fields) {
    if (value.is_map()) AddGolden(key.text, value, table);
    if (arrays && value.is_list() && IsTrainingLoss(ClassifyLogKey(key.text))) length = value.items.size();
  }
  for (const auto& [key, value] : root->fields) {
    if (arrays && value.is_list() && value.items.size() == length) AddArray(key.text, value, table);
  }
  if (arrays) out.set_steps_by_order(0);
  table.Finish(out);
}

bool Sniff(const LogHead& head) {
  const std::size_t brace = head.text.find_first_not_of(" \t\n");
  if (!head.first || brace == absl::string_view::npos || head.text[brace] != '{') return false;
  const absl::string_view text = head.raw.substr(0, 64 << 10);
  if (absl::StrContains(text, "\"start_step\"") && absl::StrContains(text, "\"values\"")) return true;
  for (absl::string_view key : {"\"lm loss\"", "\"loss\"", "\"train_loss\""}) {
    const std::size_t at = text.find(key);
    if (at == absl::string_view::npos) continue;
    const std::size_t open = text.find_first_not_of(" \t\r\n:", at + key.size());
    if (open != absl::string_view::npos && text[open] == '[') return !absl::StrContains(text, "\"log_history\"");
  }
  return false;
}

std::unique_ptr<LogParser> Create(TextEncoding encoding) {
  return MakeDocumentParser(encoding, &Parse);
}

}  // namespace

extern const LogFormat kMegatronGoldenLogFormat;
const LogFormat kMegatronGoldenLogFormat = {"megatron", &Sniff, &Create};

}  // namespace paritect
