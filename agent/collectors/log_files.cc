#include "agent/collectors/log_files.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/logs/machinery/series_table.h"
#include "rules/evaluation_words.h"

namespace paritect {
namespace {

constexpr std::size_t kTimeSearchBytes = 1 << 20;
constexpr std::size_t kClockSearchBytes = 1 << 18;

class FileBytes : public LogBytes {
 public:
  explicit FileBytes(std::unique_ptr<File> file) : file_(std::move(file)) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override { return file_->Read(buffer); }
  absl::StatusOr<std::uint64_t> SkipHole() override { return file_->SkipHole(); }

 private:
  std::unique_ptr<File> file_;
};

// The files one after the other, opened when their turn comes.
class JoinedBytes : public LogBytes {
 public:
  JoinedBytes(FileSystem& fs, std::vector<std::string> paths) : fs_(fs), paths_(std::move(paths)) {}

  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    for (;;) {
      if (current_ == nullptr) {
        if (next_ == paths_.size()) return 0;
        PARITECT_ASSIGN_OR_RETURN(current_, OpenLogFile(fs_, paths_[next_++]));
      }
      PARITECT_ASSIGN_OR_RETURN(std::size_t n, current_->Read(buffer));
      if (n > 0) return n;
      truncated_ = truncated_ || current_->truncated();
      current_ = nullptr;
    }
  }
  absl::StatusOr<std::uint64_t> SkipHole() override {
    if (current_ == nullptr && next_ < paths_.size()) {
      PARITECT_ASSIGN_OR_RETURN(current_, OpenLogFile(fs_, paths_[next_++]));
    }
    return current_ == nullptr ? absl::StatusOr<std::uint64_t>(0) : current_->SkipHole();
  }
  bool truncated() const override { return truncated_; }

 private:
  FileSystem& fs_;
  std::vector<std::string> paths_;
  std::size_t next_ = 0;
  bool truncated_ = false;
  std::unique_ptr<LogBytes> current_;
};

// Which bytes went by, in four streams of words side by side: no defence against an attacker, only to know a copy
// again, at a cost that reading does not feel.
struct Passed {
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kBlock = kLanes * sizeof(std::uint64_t);

  std::uint64_t hash[kLanes] = {};
  std::uint64_t bytes = 0;
  std::string carry;  // less than a block
  std::string head;   // where a time is looked for

  void Block(const char* block) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint64_t value = 0;
      std::memcpy(&value, block + lane * sizeof(value), sizeof(value));
      hash[lane] = (hash[lane] ^ value) * 0x9E3779B97F4A7C15u;
      hash[lane] ^= hash[lane] >> 29;
    }
  }
  void Add(absl::string_view chunk) {
    bytes += chunk.size();
    if (head.size() < kClockSearchBytes) absl::StrAppend(&head, chunk.substr(0, kClockSearchBytes - head.size()));
    if (!carry.empty()) {
      const std::size_t more = std::min(kBlock - carry.size(), chunk.size());
      absl::StrAppend(&carry, chunk.substr(0, more));
      chunk.remove_prefix(more);
      if (carry.size() < kBlock) return;
      Block(carry.data());
      carry.clear();
    }
    for (; chunk.size() >= kBlock; chunk.remove_prefix(kBlock)) Block(chunk.data());
    carry.assign(chunk.data(), chunk.size());
  }
  // A hole counts by its length.
  void AddHole(std::uint64_t length) {
    bytes += length;
    hash[0] = (hash[0] ^ length) * 0x9E3779B97F4A7C15u;
  }
  std::string Digest() {
    carry.resize(kBlock);
    Block(carry.data());
    carry.clear();
    std::uint64_t all = 0;
    for (const std::uint64_t lane : hash) all = (all ^ lane) * 0x9E3779B97F4A7C15u;
    return absl::StrCat(absl::Hex(all ^ (all >> 29), absl::kZeroPad16), "-", bytes);
  }
};

// Hands bytes through and notes which. Every opening begins anew; the last one reads all.
class WatchedBytes : public LogBytes {
 public:
  WatchedBytes(std::unique_ptr<LogBytes> source, Passed& passed) : source_(std::move(source)), passed_(passed) {
    passed_ = Passed();
  }
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, source_->Read(buffer));
    passed_.Add(absl::string_view(buffer.data(), n));
    return n;
  }
  absl::StatusOr<std::uint64_t> SkipHole() override {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t hole, source_->SkipHole());
    if (hole > 0) passed_.AddHole(hole);
    return hole;
  }
  bool truncated() const override { return source_->truncated(); }

 private:
  std::unique_ptr<LogBytes> source_;
  Passed& passed_;
};

// "2024-05-08 10:21:10" at `at`, with '/' or 'T' in the places where some write them; else empty.
std::string TimeAt(absl::string_view text, std::size_t at) {
  static constexpr absl::string_view kShape = "dddd-dd-dd dd:dd:dd";
  if (at + kShape.size() > text.size()) return "";
  std::string time;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const char want = kShape[i];
    const char c = text[at + i];
    const bool fits = want == 'd'   ? absl::ascii_isdigit(static_cast<unsigned char>(c))
                      : want == '-' ? c == '-' || c == '/'
                      : want == ' ' ? c == ' ' || c == 'T'
                                    : c == want;
    if (!fits) return "";
    time.push_back(want == 'd' ? c : want);
  }
  return time;
}

std::string FirstTime(absl::string_view text) {
  for (std::size_t i = 0; i + 19 <= text.size(); ++i) {
    if (text[i] != '2' && text[i] != '1') continue;
    if (i > 0 && absl::ascii_isdigit(static_cast<unsigned char>(text[i - 1]))) continue;
    if (std::string time = TimeAt(text, i); !time.empty()) return time;
  }
  return "";
}

// The number of "log.2", "log.2.gz", "log-2"; -1 for the live file, which is the newest.
std::int64_t RotationNumber(absl::string_view path) {
  absl::ConsumeSuffix(&path, ".gz");
  const std::size_t dot = path.find_last_of(".-_");
  if (dot == absl::string_view::npos) return -1;
  return ParseInt(path.substr(dot + 1)).value_or(-1);
}

absl::StatusOr<LogPart> ReadPart(FileSystem& fs, const std::string& path, const LogOptions& options) {
  LogPart part;
  part.path = path;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<LogBytes> bytes, OpenLogFile(fs, path));
  std::string head(kTimeSearchBytes, '\0');
  std::size_t filled = 0;
  while (filled < head.size()) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t hole, bytes->SkipHole());
    if (hole > 0) head[filled++] = '\0';
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, bytes->Read(absl::MakeSpan(head.data() + filled, head.size() - filled)));
    if (n == 0) break;
    filled += n;
  }
  part.first_time = FirstTime(absl::string_view(head).substr(0, filled));
  auto log = ReadLog([&] { return OpenLogFile(fs, path); }, options);
  if (!log.ok()) return log.status();
  for (const v1::StepRecord& record : log->records()) {
    if (record.step_unknown()) continue;
    if (part.first_step < 0) part.first_step = record.step();
    part.last_step = std::max(part.last_step, record.step());
  }
  return part;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogBytes>> OpenLogFile(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  return std::make_unique<GunzipBytes>(std::make_unique<FileBytes>(std::move(file)));
}

absl::StatusOr<std::vector<LogPart>> OrderLogParts(FileSystem& fs, const std::vector<std::string>& paths,
                                                   const LogOptions& options) {
  std::vector<LogPart> parts;
  bool all_timed = true;
  bool all_stepped = true;
  for (const std::string& path : paths) {
    PARITECT_ASSIGN_OR_RETURN(LogPart part, ReadPart(fs, path, options));
    all_timed = all_timed && !part.first_time.empty();
    all_stepped = all_stepped && part.first_step >= 0;
    parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(), [&](const LogPart& a, const LogPart& b) {
    if (all_timed && a.first_time != b.first_time) return a.first_time < b.first_time;
    if (all_stepped && a.first_step != b.first_step) return a.first_step < b.first_step;
    const std::int64_t a_rotation = RotationNumber(a.path);
    const std::int64_t b_rotation = RotationNumber(b.path);
    if (a_rotation != b_rotation) return a_rotation > b_rotation;
    return a.path < b.path;
  });
  return parts;
}

bool PartsOverlap(const std::vector<LogPart>& parts) {
  std::size_t overlapping = 0;
  std::int64_t last = -1;
  for (const LogPart& part : parts) {
    if (part.first_step < 0) continue;
    const std::int64_t length = part.last_step - part.first_step + 1;
    if (last >= part.first_step && (std::min(last, part.last_step) - part.first_step + 1) * 2 > length) ++overlapping;
    last = std::max(last, part.last_step);
  }
  return overlapping > 0;
}

namespace {

constexpr std::size_t kFolderFilesMax = 10'000;
constexpr int kFolderDepthMax = 8;

// "logs/validation/events...", "Loss_val": Keras and add_scalars write what they evaluate under the same tags into a
// folder of its own.
bool IsEvaluationFolder(absl::string_view folder) {
  const std::string name = absl::AsciiStrToLower(BaseName(folder));
  const std::vector<std::string>& words = BuiltInEvaluationWords().splits;
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return name == word || absl::EndsWith(name, absl::StrCat("_", word)) ||
           absl::StartsWith(name, absl::StrCat(word, "_"));
  });
}

void MarkEvaluations(v1::RunLog& log) {
  for (v1::StepRecord& record : *log.mutable_records()) {
    if (record.has_loss() && !record.has_eval_loss()) record.set_eval_loss(record.loss());
    record.clear_loss();
    record.clear_loss_resolution();
    record.clear_accuracy_of_training();
  }
}

absl::StatusOr<v1::RunLog> ReadOrdered(FileSystem& fs, const std::vector<std::string>& paths, const LogOptions& options,
                                       SeenBytes* seen = nullptr) {
  Passed passed;
  auto log = ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> {
        return std::make_unique<WatchedBytes>(std::make_unique<JoinedBytes>(fs, paths), passed);
      },
      options);
  if (!log.ok()) return log;
  if (seen != nullptr) *seen = {passed.Digest(), FirstTime(passed.head)};
  if (log->format() == "tensorboard" && !paths.empty() && IsEvaluationFolder(DirName(paths[0]))) MarkEvaluations(*log);
  const std::string name = DisplayBytes(paths.empty() ? "" : paths[0]);
  for (v1::SettingsDocument& document : *log->mutable_settings()) {
    for (v1::Setting& setting : *document.mutable_settings()) {
      if (absl::StartsWith(setting.origin(), ":")) setting.set_origin(absl::StrCat(name, setting.origin()));
    }
  }
  return log;
}

// The run that an MLflow metric file is of: what stands before "/metrics/", else its folder.
std::string MlflowRun(const std::string& path) {
  const std::size_t metrics = path.rfind("/metrics/");
  return metrics == std::string::npos ? std::string(DirName(path)) : path.substr(0, metrics);
}

// The metric's name of an MLflow file is what stands behind "metrics/" in its path.
std::string MlflowMetric(absl::string_view path) {
  const std::size_t at = path.rfind("/metrics/");
  return std::string(at == absl::string_view::npos ? BaseName(path) : path.substr(at + 9));
}

void AddMlflow(const v1::RunLog& log, absl::string_view path, SeriesTable& table) {
  const std::string metric = MlflowMetric(path);
  for (const v1::StepRecord& record : log.records()) {
    for (const auto& [name, value] : record.metrics()) table.Add(record.step(), metric, value);
  }
}

v1::RunLog FinishMlflow(SeriesTable& table) {
  RunLogBuilder out;
  table.Finish(out);
  return out.Build("mlflow");
}

absl::Status ListFiles(FileSystem& fs, const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::pair<std::string, int>> left = {{folder, 0}};
  while (!left.empty()) {
    const auto [path, depth] = left.back();
    left.pop_back();
    std::vector<std::string> names;
    PARITECT_RETURN_IF_ERROR(fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
    for (const std::string& name : names) {
      const std::string child = JoinPath(path, name);
      auto info = fs.LStat(child);
      if (!info.ok()) continue;
      if (info->type == FileInfo::Type::kDirectory && depth < kFolderDepthMax) left.emplace_back(child, depth + 1);
      if (info->type == FileInfo::Type::kRegular && files.size() < kFolderFilesMax) files.push_back(child);
    }
  }
  std::sort(files.begin(), files.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::RunLog> ReadLogFiles(FileSystem& fs, std::vector<std::string> paths, const LogOptions& options,
                                        SeenBytes* seen) {
  if (paths.size() > 1) {
    PARITECT_ASSIGN_OR_RETURN(std::vector<LogPart> parts, OrderLogParts(fs, paths, options));
    for (std::size_t i = 0; i < parts.size(); ++i) paths[i] = parts[i].path;
  }
  PARITECT_ASSIGN_OR_RETURN(v1::RunLog log, ReadOrdered(fs, paths, options, seen));
  if (log.format() != "mlflow" || paths.size() != 1) return log;
  SeriesTable table;
  AddMlflow(log, paths[0], table);
  return FinishMlflow(table);
}

absl::StatusOr<NamedLogs> ReadMetricFiles(FileSystem& fs, const std::vector<std::string>& paths,
                                          const LogOptions& options) {
  std::map<std::string, SeriesTable> by_run;
  // By name first: the parts of a rotated log are not read for this.
  const auto is_metric = [](const std::string& path) { return absl::StrContains(path, "/metrics/"); };
  if (!std::all_of(paths.begin(), paths.end(), is_metric)) return NamedLogs();
  for (const std::string& path : paths) {
    PARITECT_ASSIGN_OR_RETURN(const v1::RunLog log, ReadOrdered(fs, {path}, options));
    if (log.format() != "mlflow") return NamedLogs();
    AddMlflow(log, path, by_run[MlflowRun(path)]);
  }
  NamedLogs out;
  for (auto& [run, table] : by_run) out.emplace_back(run, FinishMlflow(table));
  return out;
}

absl::StatusOr<NamedLogs> ReadLogFolder(FileSystem& fs, const std::string& folder, const LogOptions& options) {
  std::vector<std::string> files;
  PARITECT_RETURN_IF_ERROR(ListFiles(fs, folder, files));
  std::map<std::string, v1::RunLog> logs;
  std::map<std::string, std::vector<std::string>> events;  // by folder; names hold the time they were begun
  std::map<std::string, SeriesTable> mlflow;               // by run
  for (const std::string& file : files) {
    LogOptions recognise = options;
    recognise.format.clear();
    auto log = ReadOrdered(fs, {file}, recognise);
    if (!log.ok() || log->format() == "unknown") continue;
    if (!options.format.empty() && log->format() != options.format) continue;
    if (log->format() == "tensorboard") {
      events[std::string(DirName(file))].push_back(file);
    } else if (log->format() == "mlflow") {
      AddMlflow(*log, file, mlflow[MlflowRun(file)]);
    } else {
      logs.emplace(file, std::move(*log));
    }
  }
  for (const auto& [path, parts] : events) {
    PARITECT_ASSIGN_OR_RETURN(logs[path], ReadOrdered(fs, parts, options));
  }
  for (auto& [path, table] : mlflow) logs[path] = FinishMlflow(table);
  NamedLogs out;
  for (auto& [path, log] : logs) out.emplace_back(path, std::move(log));
  return out;
}

}  // namespace paritect
