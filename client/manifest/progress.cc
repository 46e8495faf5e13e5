#include "client/manifest/progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/localise.h"
#include "client/report/json.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr int kNameColumnsMin = 12;

std::string Bytes(double bytes) {
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    if (bytes < 999.5) return absl::StrFormat(bytes < 10 && *unit != 'B' ? "%.1f %s" : "%.0f %s", bytes, unit);
    bytes /= 1000;
  }
  return absl::StrFormat("%.1f TB", bytes);
}

std::string Time(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole / 60 % 60);
}

// nullopt: nothing was read yet that would tell.
std::optional<double> SecondsLeft(const HashProgress& now, double seconds) {
  const double done = static_cast<double>(now.bytes_done);
  if (now.bytes_done >= now.bytes_total) return 0;
  if (now.bytes_done == 0) return std::nullopt;
  return seconds * static_cast<double>(now.bytes_total - now.bytes_done) / done;
}

}  // namespace

absl::Status CheckProgressMode(absl::string_view mode) {
  if (mode == "auto" || mode == "plain" || mode == "json" || mode == "none") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--progress ", mode, ": there are auto, plain, json, none"));
}

ManifestProgress::ManifestProgress(CommandEnv& env, const std::string& mode) : env_(env), mode_(mode) {
  if (mode_ == "auto") mode_ = env.err_is_terminal ? "bar" : "none";
}

std::string ManifestProgress::Text(const HashProgress& now, double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(now.bytes_done) / seconds : 0;
  const std::string done =
      absl::StrCat(Bytes(static_cast<double>(now.bytes_done)), " of ", Bytes(static_cast<double>(now.bytes_total)));
  std::string text;
  if (now.walking && now.files_done == 0) {
    text = absl::StrCat("looking for files, found so far: ", now.files_total);
  } else if (now.walking) {
    text = absl::StrCat(now.files_done, " files read, found so far: ", now.files_total, "; ", Bytes(rate), "/s");
  } else if (const std::optional<double> left = SecondsLeft(now, seconds)) {
    text = absl::StrCat(now.files_done, " of ", now.files_total, " files, ", done, ", ", Bytes(rate), "/s, ",
                        Time(*left), " left");
  } else {
    text = absl::StrCat(now.files_done, " of ", now.files_total, " files, ", done);
  }
  return Localised(env_.language, text);
}

void ManifestProgress::Show(const HashProgress& now) {
  if (mode_ == "none") return;
  const auto time = std::chrono::steady_clock::now();
  const bool end = now.files_done == now.files_total && !now.walking;
  const auto pause = mode_ == "bar" ? std::chrono::milliseconds(200) : std::chrono::milliseconds(1000);
  if ((!end && time - last_ < pause) || (end && ended_)) return;
  ended_ = end;
  last_ = time;
  const double seconds = std::chrono::duration<double>(time - start_).count();
  if (mode_ == "json") {
    const std::optional<double> left = SecondsLeft(now, seconds);
    const OrderedJson json = {{"files_done", now.files_done},
                              {"files_total", now.files_total},
                              {"bytes_done", now.bytes_done},
                              {"bytes_total", now.bytes_total},
                              {"files_from_cache", now.files_from_cache},
                              {"walking", now.walking},
                              {"seconds", seconds},
                              {"seconds_left", left ? OrderedJson(*left) : OrderedJson(nullptr)},
                              {"file", DisplayBytes(now.current)}};
    env_.err << DumpJson(json, -1) << "\n";
  } else if (mode_ == "plain") {
    env_.err << Text(now, seconds) << "\n";
  } else {
    std::string line = Text(now, seconds);
    const int room = env_.terminal_columns - static_cast<int>(line.size()) - 3;
    std::string name = TerminalSafe(DisplayBytes(now.current));
    // The end of a path tells more than its beginning.
    if (!end && room >= kNameColumnsMin && !name.empty()) {
      const auto columns = static_cast<std::size_t>(room);
      if (name.size() > columns) {
        std::size_t from = name.size() - columns + 3;
        while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xC0) == 0x80) ++from;
        name = "..." + name.substr(from);
      }
      absl::StrAppend(&line, "  ", name);
    }
    env_.err << "\r" << line << "\x1b[K" << (end ? "\n" : "");
    bar_stands_ = !end;
  }
  env_.err.flush();
}

void ManifestProgress::Clear() {
  if (bar_stands_) env_.err << "\r\x1b[K" << std::flush;
  bar_stands_ = false;
}

}  // namespace paritect
