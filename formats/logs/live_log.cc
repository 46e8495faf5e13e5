#include "formats/logs/live_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/logs/machinery/pattern_log.h"

namespace paritect {
namespace {

constexpr std::size_t kWindowBytes = 1 << 20;

LogClaim ClaimOf(absl::string_view raw, TextEncoding encoding, bool first) {
  std::string text;
  TextLines lines(encoding);
  lines.Feed(raw, [&](const TextLine& line) { absl::StrAppend(&text, line.text, "\n"); });
  return ClaimLog({first ? raw : absl::string_view(), text, first});
}

}  // namespace

LiveLog::LiveLog(LogOptions options) : options_(std::move(options)), out_(std::make_unique<RunLogBuilder>()) {
  out_->set_live();
}

// Makes the parser and gives it what was kept.
absl::Status LiveLog::Begin() {
  if (!options_.pattern.empty()) {
    PARITECT_ASSIGN_OR_RETURN(parser_, MakePatternParser(encoding_, options_.pattern));
    name_ = "text";
  } else {
    parser_ = claim_.format == format_ ? claim_.MakeParser(encoding_) : format_->create(encoding_);
  }
  out_ = std::make_unique<RunLogBuilder>();
  out_->set_live();
  // Line numbers count from the file's begin.
  const std::string blank(encoding_ == TextEncoding::kUtf8 ? std::min<std::int64_t>(lines_before_, 1 << 16) : 0, '\n');
  for (std::int64_t left = blank.empty() ? 0 : lines_before_; left > 0;
       left -= static_cast<std::int64_t>(blank.size())) {
    const auto n = std::min<std::size_t>(blank.size(), static_cast<std::size_t>(left));
    PARITECT_RETURN_IF_ERROR(parser_->Feed(absl::string_view(blank).substr(0, n), *out_));
  }
  return parser_->Feed(head_, *out_);
}

absl::Status LiveLog::Recognise(absl::string_view appended) {
  head_.append(appended.data(), appended.size());
  if (lines_before_ == 0 && parser_ == nullptr) encoding_ = DetectTextEncoding(head_);
  if (!options_.pattern.empty() || !options_.format.empty()) {
    format_ = FindLogFormat(options_.format);
    if (options_.pattern.empty() && format_ == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("there is no log format '", options_.format, "'"));
    }
    settled_ = true;
    absl::Status status = Begin();
    head_.clear();
    return status;
  }
  const bool full = head_.size() >= kWindowBytes;
  // Each look costs the window's length: it is taken when the window has grown by half.
  if (full || format_ == nullptr || head_.size() >= looked_at_ + looked_at_ / 2) {
    looked_at_ = head_.size();
    const LogClaim claimed = ClaimOf(head_, encoding_, first_window_);
    const bool other = claimed.format != nullptr && claimed.format != format_ &&
                       (format_ == nullptr || claim_.is_general() || claimed.losses > claim_.losses);
    const bool more = claimed.format != nullptr && claimed.format == format_ && claimed.helpers != claim_.helpers;
    if (claimed.format == format_) claim_.losses = claimed.losses;
    if (other || more) {
      format_ = claimed.format;
      claim_ = claimed;
      PARITECT_RETURN_IF_ERROR(Begin());
    } else if (parser_ != nullptr) {
      PARITECT_RETURN_IF_ERROR(parser_->Feed(appended, *out_));
    }
  } else {
    PARITECT_RETURN_IF_ERROR(parser_->Feed(appended, *out_));
  }
  if (!full) return absl::OkStatus();
  settled_ = format_ != nullptr;
  // The window moves on at a line's end, so that no line is cut.
  const std::size_t end = settled_ ? head_.size() : head_.rfind('\n') + 1;
  const std::size_t drop = end == 0 ? head_.size() : end;
  lines_before_ += std::count(head_.begin(), head_.begin() + static_cast<std::ptrdiff_t>(drop), '\n');
  head_.erase(0, drop);
  looked_at_ = 0;
  first_window_ = false;
  return absl::OkStatus();
}

absl::Status LiveLog::Feed(absl::string_view appended) {
  if (settled_) return parser_->Feed(appended, *out_);
  while (!settled_ && !appended.empty()) {
    const std::size_t n = std::min(appended.size(), kWindowBytes - std::min(kWindowBytes - 1, head_.size()));
    PARITECT_RETURN_IF_ERROR(Recognise(appended.substr(0, n)));
    appended.remove_prefix(n);
  }
  return appended.empty() ? absl::OkStatus() : parser_->Feed(appended, *out_);
}

absl::Status LiveLog::FeedHole(std::uint64_t bytes) {
  if (settled_) return parser_->FeedHole(bytes, *out_);
  return Feed(absl::string_view("\0", 1));  // one stands for all while the form is looked for
}

void LiveLog::StartNewFile() {
  if (parser_ != nullptr) parser_->StartNewFile();
  if (format_ != nullptr || !options_.pattern.empty()) settled_ = parser_ != nullptr;
  head_.clear();
  looked_at_ = 0;
  lines_before_ = 0;
  first_window_ = true;
}

v1::RunLog LiveLog::About() const {
  v1::RunLog about = out_->LiveAbout();
  about.set_format(std::string(format()));
  return about;
}

std::vector<v1::StepRecord> LiveLog::Take() {
  if (parser_ != nullptr) parser_->HandOver(*out_);
  return out_->TakeLive();
}

}  // namespace paritect
