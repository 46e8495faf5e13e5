// The tables that Ultralytics and YOLOv5 draw: a header, and below it a row an epoch, written anew with each batch; its
// numbers are means since the epoch began, the columns between the memory and the last two the terms of the loss.
//         Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
//         1/100      2.61G      1.153      1.398      1.192         81        640: 100%|██████████| 8/8 [00:02]
//                    Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|████| 4/4
//                      all        128        929      0.652      0.524      0.604      0.447
// Source: ultralytics/ultralytics engine/trainer.py `progress_string`, models/yolo/detect/val.py `get_desc`;
// ultralytics/yolov5 train.py and val.py ("gpu_mem box obj cls labels img_size"; epochs from 0).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/rank_prefix.h"

namespace paritect {
namespace {

using Words = std::vector<absl::string_view>;

constexpr std::size_t kColumnsMax = 64;

Words WordsOf(absl::string_view line) {
  Words words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() > kColumnsMax) words.clear();
  return words;
}

bool IsHeader(const Words& words) {
  return words.size() >= 4 && words[0] == "Epoch" && absl::EqualsIgnoreCase(words[1], "gpu_mem");
}

struct Place {
  std::int64_t done = 0;
  std::int64_t total = 0;
};

bool ReadPlace(absl::string_view text, Place& place) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  return absl::SimpleAtoi(parts.first, &place.done) && absl::SimpleAtoi(parts.second, &place.total) &&
         place.done >= 0 && place.total > 0;
}

// "8/8" behind the bar.
bool ReadBatches(const Words& words, std::size_t from, Place& place) {
  for (std::size_t i = from; i < words.size(); ++i) {
    if (ReadPlace(words[i], place)) return true;
  }
  return false;
}

// A row: "1/100", the memory ("2.61G"; "0G" without a GPU), the numbers, and the size with a colon.
bool IsRow(const Words& words, std::size_t columns) {
  Place epoch;
  return columns > 3 && words.size() >= columns && ReadPlace(words[0], epoch) && !words[1].empty() &&
         (words[1].back() == 'G' || words[1].back() == 'B') && absl::EndsWith(words[columns - 1], ":");
}

class YoloDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const Words words = WordsOf(line.text);
    if (IsHeader(words)) {
      columns_.clear();
      for (const absl::string_view word : words) columns_.emplace_back(word);
      return true;
    }
    if (IsRow(words, columns_.size())) {
      Row(line, words, out);
      return true;
    }
    if (words.size() > 4 && words[0] == "Class" && words[1] == "Images") {
      TakeResults(words);
      return true;
    }
    if (words.empty() || words[0] != "all" || words.size() != results_.size()) return false;
    Result(line, words, out);
    return true;
  }

 private:
  void Row(const LogLine& line, const Words& words, RunLogBuilder& out) {
    Place epoch;
    Place batch;
    if (!ReadPlace(words[0], epoch) || !ReadBatches(words, columns_.size(), batch)) return;
    FieldCollector fields;
    fields.SetLine(line.number);
    for (std::size_t i = 2; i + 2 < columns_.size(); ++i) {
      const bool named = absl::EndsWith(columns_[i], "loss");
      fields.Add(named ? columns_[i] : absl::StrCat(columns_[i], "_loss"), ReadLogNumber(words[i]));
    }
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank) record.values.set_rank(*line.rank);
    if (!first_epoch_) first_epoch_ = epoch.done == 0 ? 0 : 1;
    record.has_step = true;
    record.step_in_epoch = true;
    record.epoch_index = std::max<std::int64_t>(epoch.done - *first_epoch_, 0);
    record.steps_per_epoch = batch.total;
    record.values.set_step(batch.done);
    record.values.set_epoch(static_cast<double>(epoch.done));
    out.TotalSteps((epoch.total + 1 - *first_epoch_) * batch.total);
    out.set_interval_means();
    out.Add(std::move(record));
  }

  // "Class Images Instances Box(P R mAP50 mAP50-95) Mask(P R ...): 100%|...": named as in results.csv.
  void TakeResults(const Words& words) {
    results_.clear();
    std::string kind;
    for (absl::string_view word : words) {
      const bool last = absl::StrContains(word, ":") && !absl::StrContains(word, "@");
      absl::ConsumeSuffix(&word, ":");
      const std::size_t open = word.find('(');
      if (open != absl::string_view::npos) kind = absl::StrCat("(", word.substr(0, 1), ")");
      absl::string_view name = open == absl::string_view::npos ? word : word.substr(open + 1);
      absl::ConsumeSuffix(&name, ")");
      const bool spells_share = absl::StartsWith(name, "mAP@.5");
      std::string plain = !spells_share ? std::string(name) : absl::StrContains(name, ":") ? "mAP50-95" : "mAP50";
      results_.push_back(results_.size() < 3 ? std::string() : absl::StrCat("metrics/", plain, kind));
      if (last || word.find('%') != absl::string_view::npos) break;
    }
  }

  void Result(const LogLine& line, const Words& words, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    for (std::size_t i = 3; i < words.size(); ++i) fields.Add(results_[i], ReadLogNumber(words[i]));
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank) record.values.set_rank(*line.rank);
    record.has_result = true;
    out.AddWithoutStep(std::move(record));
  }

  std::vector<std::string> columns_;
  std::vector<std::string> results_;  // names of an evaluation's numbers
  std::optional<std::int64_t> first_epoch_;
};

bool Sniff(const LogHead& head) {
  std::size_t columns = 0;
  return AnyLine(head.text, [&](absl::string_view line) {
    StripRankPrefix(line);
    const Words words = WordsOf(line);
    if (IsHeader(words)) columns = words.size();
    return IsRow(words, columns);
  });
}

}  // namespace

extern const LogFormat kYoloLogFormat;
const LogFormat kYoloLogFormat = {"yolo", &Sniff, &CreateTextLogParser<YoloDialect>, &MakeLineDialect<YoloDialect>,
                                  "_me%|\x01% \xE2"};  // GPU_mem, and bars of both kinds

}  // namespace paritect
