#include "agent/collectors/log_tail.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/collectors/log_files.h"
#include "agent/redaction.h"
#include "common/digest.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
// Reading a whole log again may take this share of the time.
constexpr std::int64_t kCostFactor = 100;

std::uint64_t ShortDigest(google::protobuf::Message& message) {
  const std::string digest = Sha256(SerializeStable(message));
  std::uint64_t out = 0;
  std::memcpy(&out, digest.data(), std::min(sizeof(out), digest.size()));
  return out;
}

// What changes with every line is left out: the records tell it.
v1::RunLog AboutOf(v1::RunLog log) {
  log.clear_settings();  // printed options may hold secrets, and nothing that is compared live asks for them
  log.clear_records();
  log.clear_segments();
  log.clear_unparsed();
  log.clear_unparsed_total();
  log.clear_incomplete_tail();
  if (log.has_end()) log.mutable_end()->clear_last_step();
  if (log.end().state() == v1::RunEnd::STATE_UNFINISHED) log.mutable_end()->clear_evidence();
  return log;
}

}  // namespace

LogTail::LogTail(std::vector<std::string> parts, std::string path, LogOptions options)
    : parts_(std::move(parts)), path_(std::move(path)), options_(options), log_(std::move(options)) {}

absl::Status LogTail::Take(absl::string_view bytes) {
  bytes_read_ += bytes.size();
  dirty_ = true;
  return log_.Feed(bytes);
}

// The older parts of a log that was rotated before it was looked at.
absl::Status LogTail::ReadParts(FileSystem& fs) {
  const std::vector<std::string> parts = std::exchange(parts_, {});
  std::vector<char> buffer(kReadBytes);
  for (const std::string& part : parts) {
    PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(part));
    files_.insert({info.device, info.inode});
    PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<LogBytes> bytes, OpenLogFile(fs, part));
    for (;;) {
      PARITECT_ASSIGN_OR_RETURN(const std::size_t n, bytes->Read(absl::MakeSpan(buffer)));
      if (n == 0) break;
      PARITECT_RETURN_IF_ERROR(Take(absl::string_view(buffer.data(), n)));
    }
    log_.StartNewFile();
  }
  return absl::OkStatus();
}

absl::Status LogTail::OpenNext(FileSystem& fs) {
  auto file = fs.Open(path_);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();  // between two files, or not there yet
  PARITECT_RETURN_IF_ERROR(file.status());
  PARITECT_ASSIGN_OR_RETURN(info_, (*file)->Info());
  file_ = *std::move(file);
  files_.insert({info_.device, info_.inode});
  offset_ = 0;
  return absl::OkStatus();
}

// To the present end of the open file, or until the budget is used up.
absl::Status LogTail::ReadOpen(std::uint64_t& left) {
  std::vector<char> buffer(kReadBytes);
  while (left > 0) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t hole, file_->SkipHole());
    offset_ += hole;
    if (hole > 0 && !whole_) PARITECT_RETURN_IF_ERROR(log_.FeedHole(hole));
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file_->Read(absl::MakeSpan(buffer)));
    if (n == 0) return absl::OkStatus();
    const absl::string_view bytes(buffer.data(), n);
    if (offset_ == 0 && absl::StartsWith(bytes, "\x1f\x8b")) whole_ = true;
    offset_ += n;
    left -= std::min<std::uint64_t>(left, n);
    if (!whole_) PARITECT_RETURN_IF_ERROR(Take(bytes));
    dirty_ = true;
  }
  more_ = true;
  return absl::OkStatus();
}

bool LogTail::Replaced(FileSystem& fs, std::string& change) {
  const auto now = fs.Stat(path_);
  if (!now.ok()) return false;  // moved away and nothing there yet: the open one is read on
  if (now->inode != info_.inode || now->device != info_.device) {
    change = "rotated";
    return true;
  }
  if (now->size_bytes < offset_) {
    change = "truncated";
    return true;
  }
  return false;
}

absl::Status LogTail::ReadOn(FileSystem& fs, std::uint64_t bytes_max, std::string& change) {
  more_ = false;
  std::uint64_t left = bytes_max;
  if (!parts_.empty()) PARITECT_RETURN_IF_ERROR(ReadParts(fs));
  if (file_ == nullptr) PARITECT_RETURN_IF_ERROR(OpenNext(fs));
  if (file_ == nullptr) return absl::OkStatus();
  PARITECT_RETURN_IF_ERROR(ReadOpen(left));
  if (more_ || !Replaced(fs, change)) return absl::OkStatus();
  if (change == "rotated") PARITECT_RETURN_IF_ERROR(ReadOpen(left));  // what came since, into the old file
  log_.StartNewFile();
  file_ = nullptr;
  PARITECT_RETURN_IF_ERROR(OpenNext(fs));
  return file_ == nullptr ? absl::OkStatus() : ReadOpen(left);
}

void LogTail::Tell(const std::string& source, std::vector<v1::StepRecord> steps, v1::RunLog about,
                   std::vector<LogTailUpdate>& updates) {
  Told& told = told_[source];
  end_ = about.end().state();
  for (v1::StepRecord& step : steps) {
    told.counted = told.counted || step.has_skipped();
    for (v1::Note& note : *step.mutable_notes()) note.set_message(WithoutSecrets(note.message()));
  }
  about = AboutOf(std::move(about));
  WithholdSecrets(about);
  about.set_skipped_counted(about.skipped_counted() || told.counted);
  about.set_overflow_seen(about.overflow_seen() || told.counted);
  LogTailUpdate update;
  update.source = source;
  update.steps = std::move(steps);
  const std::uint64_t digest = ShortDigest(about);
  if (digest != told.about) update.about = std::move(about);
  told.about = digest;
  if (!update.steps.empty() || update.about) updates.push_back(std::move(update));
}

// Of a log that was read whole: the records that are new or have other values than before.
void LogTail::TellLog(const std::string& source, v1::RunLog log, std::vector<LogTailUpdate>& updates) {
  std::vector<std::uint64_t>& told = told_[source].records;
  told.resize(static_cast<std::size_t>(log.records_size()));
  std::vector<v1::StepRecord> steps;
  for (std::size_t i = 0; i < told.size(); ++i) {
    v1::StepRecord& record = *log.mutable_records(static_cast<int>(i));
    const std::uint64_t digest = ShortDigest(record);
    if (told[i] != digest) steps.push_back(record);
    told[i] = digest;
  }
  Tell(source, std::move(steps), std::move(log), updates);
}

void LogTail::TellRecords(std::vector<LogTailUpdate>& updates) {
  if (!dirty_) return;
  std::vector<v1::StepRecord> steps = log_.Take();
  streams_ = streams_ || !steps.empty();
  if (!streams_) return;
  dirty_ = false;
  Tell(path_, std::move(steps), log_.About(), updates);
}

void LogTail::TellWhole(FileSystem& fs, std::int64_t steady_ms, std::vector<LogTailUpdate>& updates) {
  if (!dirty_ || steady_ms < next_tell_ms_) return;
  dirty_ = false;
  const absl::Time began = absl::Now();
  if (folder_) {
    auto logs = ReadLogFolder(fs, path_, options_);
    for (auto& [path, log] : logs.ok() ? *logs : std::vector<std::pair<std::string, v1::RunLog>>()) {
      TellLog(path, std::move(log), updates);
    }
  } else if (auto log = ReadLogFiles(fs, {path_}, options_); log.ok() && log->format() != "unknown") {
    // What gives records as a whole and none line by line; a JSON line that has no end yet is no document.
    const bool document = log->format() == "hf-trainer-state" || log->format() != log_.format();
    whole_ = whole_ || (log->records_size() > 0 && document && log->format() != "jsonl");
    TellLog(path_, *std::move(log), updates);
  }
  next_tell_ms_ =
      steady_ms + std::max<std::int64_t>(1000, kCostFactor * absl::ToInt64Milliseconds(absl::Now() - began));
}

namespace {

// Names, sizes and times of what stands in the folder, one level and its sub-folders.
std::string StampOf(FileSystem& fs, const std::string& folder, int depth) {
  constexpr int kDepthMax = 3;
  std::vector<std::string> names;
  if (!fs.List(folder, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }).ok()) return "";
  std::sort(names.begin(), names.end());
  std::string stamp;
  for (const std::string& name : names) {
    const std::string child = JoinPath(folder, name);
    const auto info = fs.Stat(child);
    if (!info.ok()) continue;
    absl::StrAppend(&stamp, name, "/", info->size_bytes, "/", info->mtime_ns, "\n");
    if (info->type == FileInfo::Type::kDirectory && depth < kDepthMax) {
      absl::StrAppend(&stamp, StampOf(fs, child, depth + 1));
    }
  }
  return Sha256(stamp);
}

}  // namespace

std::vector<LogTailUpdate> LogTail::Poll(FileSystem& fs, std::int64_t steady_ms, std::uint64_t bytes_max) {
  std::vector<LogTailUpdate> updates;
  std::string change;
  absl::Status status;
  const std::uint64_t before = bytes_read_;
  if (file_ == nullptr) {
    const auto info = fs.Stat(path_);
    folder_ = info.ok() && info->type == FileInfo::Type::kDirectory;
  }
  if (folder_) {
    const std::string stamp = StampOf(fs, path_, 0);
    if (stamp != folder_stamp_) dirty_ = true;
    if (stamp != folder_stamp_) grew_ms_ = steady_ms;
    folder_stamp_ = stamp;
  } else {
    const std::uint64_t at = offset_;
    status = ReadOn(fs, bytes_max, change);
    if (bytes_read_ != before || offset_ != at) grew_ms_ = steady_ms;
  }
  const std::string trouble = status.ok() ? "" : std::string(status.message());
  if (!trouble.empty() && trouble != trouble_) change = "unreadable";
  trouble_ = trouble;
  if (!change.empty()) {
    LogTailUpdate update;
    update.source = path_;
    update.change = change;
    updates.push_back(std::move(update));
  }
  if (more_) return updates;  // told when it is read to its end
  if (!folder_ && !whole_) TellRecords(updates);
  if (folder_ || whole_ || !streams_) TellWhole(fs, steady_ms, updates);
  return updates;
}

}  // namespace paritect
