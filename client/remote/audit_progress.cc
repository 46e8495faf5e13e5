#include "client/remote/audit_progress.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/remote/words.h"
#include "common/duration.h"
#include "common/utf8.h"
#include "report/language.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr int kBarColumns = 20;
constexpr std::size_t kNodeColumnsMax = 28;
constexpr std::int64_t kProgressEventMs = 1000;  // a node's figures; its states are told at once
constexpr std::int64_t kLineMs = 5000;

// Of several plans on one node the one that still has work speaks for it; then what went wrong.
int Weight(v1::NodeTaskState state) {
  switch (state) {
    case v1::NODE_TASK_STATE_RUNNING: return 5;
    case v1::NODE_TASK_STATE_DONE: return 0;
    case v1::NODE_TASK_STATE_CANCELLED: return 1;
    case v1::NODE_TASK_STATE_SILENT: return 2;
    case v1::NODE_TASK_STATE_REFUSED: return 3;
    default: return 4;
  }
}

// Rows that need a look come first.
int Order(v1::NodeTaskState state) {
  switch (state) {
    case v1::NODE_TASK_STATE_SILENT: return 0;
    case v1::NODE_TASK_STATE_REFUSED: return 1;
    case v1::NODE_TASK_STATE_RUNNING: return 2;
    case v1::NODE_TASK_STATE_CANCELLED: return 4;
    case v1::NODE_TASK_STATE_DONE: return 5;
    default: return 3;
  }
}

void AddTask(const v1::NodeTask& task, bool first, NodeProgress& row) {
  const v1::TaskProgress& progress = task.progress();
  row.files_done += progress.files_done();
  row.files_total += progress.files_total();
  row.bytes_done += progress.bytes_done();
  row.bytes_total += progress.bytes_total();
  row.rate_bytes_per_s += task.rate_bytes_per_s();
  row.last_seen_unix_ms = std::max(row.last_seen_unix_ms, task.last_seen_unix_ms());
  if (!first && Weight(task.state()) <= Weight(row.state)) return;
  row.state = task.state();
  row.detail = task.detail();
  row.stage = progress.stage();
  row.current = progress.current();
}

absl::string_view Comma(Language language) {
  return language == Language::kChinese ? "，" : ", ";
}

std::string Bar(std::optional<double> fraction, bool ascii) {
  const int full = fraction ? static_cast<int>(*fraction * kBarColumns) : 0;
  std::string bar = "[";
  for (int i = 0; i < kBarColumns; ++i) bar += i < full ? (ascii ? "#" : "█") : (ascii ? "-" : "░");
  return bar + "]";
}

std::string Figures(const NodeProgress& row, Language language) {
  std::vector<std::string> parts;
  if (auto fraction = row.fraction()) parts.push_back(absl::StrFormat("%3d%%", static_cast<int>(*fraction * 100)));
  if (row.files_total > 0) {
    parts.push_back(absl::StrCat(row.files_done, "/", row.files_total, " files"));
  } else if (row.files_done > 0) {
    parts.push_back(absl::StrCat(row.files_done, " files"));
  }
  if (row.bytes_total > 0) {
    parts.push_back(absl::StrCat(BytesWord(row.bytes_done), " of ", BytesWord(row.bytes_total)));
  } else if (row.bytes_done > 0) {
    parts.push_back(BytesWord(row.bytes_done));
  }
  if (row.state == v1::NODE_TASK_STATE_RUNNING) {
    if (row.rate_bytes_per_s > 0) parts.push_back(absl::StrCat(BytesWord(row.rate_bytes_per_s), "/s"));
    if (auto left = row.seconds_left()) parts.push_back(absl::StrCat(FormatDuration(*left), " left"));
    if (!row.stage.empty()) parts.push_back(row.stage);
  }
  for (std::string& part : parts) part = Localised(language, part);
  return absl::StrJoin(parts, "  ");
}

std::string StateText(const NodeProgress& row, bool ascii, Language language) {
  const std::string word = Localised(language, NodeTaskWord(row.state));
  const std::string colon = language == Language::kChinese ? "：" : ": ";
  switch (row.state) {
    case v1::NODE_TASK_STATE_RUNNING: return absl::StrCat(Bar(row.fraction(), ascii), " ", Figures(row, language));
    case v1::NODE_TASK_STATE_DONE: {
      const std::string figures = Figures(row, language);
      return figures.empty() ? word : absl::StrCat(Bar(1.0, ascii), " ", word, "  ", figures);
    }
    case v1::NODE_TASK_STATE_SILENT:
      return absl::StrCat(word, Comma(language),
                          Localised(language, absl::StrCat("last seen ", TimeWord(row.last_seen_unix_ms))),
                          row.detail.empty() ? "" : absl::StrCat(colon, row.detail));
    default: return row.detail.empty() ? word : absl::StrCat(word, colon, row.detail);
  }
}

std::string CountsOf(const std::vector<NodeProgress>& rows, std::size_t from, Language language) {
  std::map<int, std::pair<absl::string_view, int>> counts;
  for (std::size_t i = from; i < rows.size(); ++i) {
    auto& [word, count] = counts[Order(rows[i].state)];
    word = NodeTaskWord(rows[i].state);
    ++count;
  }
  std::vector<std::string> parts;
  for (const auto& [order, count] : counts) {
    parts.push_back(absl::StrCat(count.second, " ", Localised(language, count.first)));
  }
  return absl::StrJoin(parts, Comma(language));
}

std::string Identity(const NodeProgress& row) {
  return absl::StrCat(row.migrated ? "m/" : "b/", row.node);
}

std::string SideWord(const NodeProgress& row, Language language = Language::kEnglish) {
  return Localised(language, row.migrated ? "migrated" : "baseline");
}

class QuietWatcher : public AuditWatcher {
 public:
  void Show(const v1::AuditRun&) override {}
  void Note(const std::string&) override {}
};

// Redrawn in place.
class BarsWatcher : public AuditWatcher {
 public:
  BarsWatcher(CommandEnv& env, std::ostream& out) : env_(env), out_(out), ascii_(!LocaleIsUtf8(env.getenv)) {}

  void Show(const v1::AuditRun& run) override {
    const TerminalSize size = env_.progress_size != nullptr ? env_.progress_size() : TerminalSize();
    const std::vector<std::string> lines = ProgressBlock(run, env_.now_unix_ms(), size, ascii_, env_.language);
    std::string text;
    // A window that was made smaller has scrolled: what left it cannot be reached any more.
    const std::size_t up = std::min(drawn_, static_cast<std::size_t>(std::max(size.rows - 1, 0)));
    if (up > 0) absl::StrAppend(&text, "\x1b[", up, "A");
    for (const std::string& line : lines) absl::StrAppend(&text, "\r\x1b[2K", line, "\n");
    absl::StrAppend(&text, "\x1b[J");
    drawn_ = lines.size();
    out_ << text;
    out_.flush();
  }

  void Note(const std::string& text) override {
    out_ << "\r\x1b[2K" << TerminalSafe(text) << "\n";
    out_.flush();
    drawn_ = 0;  // the next block begins below the note
  }

 private:
  CommandEnv& env_;
  std::ostream& out_;
  const bool ascii_;
  std::size_t drawn_ = 0;
};

class LinesWatcher : public AuditWatcher {
 public:
  LinesWatcher(CommandEnv& env, std::ostream& out) : env_(env), out_(out) {}

  void Show(const v1::AuditRun& run) override {
    for (const NodeProgress& row : ProgressRows(run)) {
      const std::string state(NodeTaskWord(row.state));
      std::string& known = states_[Identity(row)];
      if (known == state) continue;
      known = state;
      if (row.state == v1::NODE_TASK_STATE_WAITING) continue;
      const Language language = env_.language;
      const std::string figures = row.state == v1::NODE_TASK_STATE_DONE ? Figures(row, language) : row.detail;
      out_ << TerminalSafe(absl::StrCat(row.node, " (", SideWord(row, language), "): ", Localised(language, state),
                                        figures.empty() ? "" : Comma(language), figures))
           << "\n";
    }
    const std::int64_t now = env_.now_unix_ms();
    if (now - last_ms_ < kLineMs && !IsEnded(run)) return;
    last_ms_ = now;
    out_ << TerminalSafe(ProgressHeadline(run, now, env_.language)) << "\n";
    out_.flush();
  }
  void Note(const std::string& text) override { out_ << TerminalSafe(text) << "\n"; }

 private:
  CommandEnv& env_;
  std::ostream& out_;
  std::map<std::string, std::string> states_;
  std::int64_t last_ms_ = 0;
};

// One object a line: {"event": "node", ...} whenever a node's state changes, at most once a second for its figures;
// {"event": "run", ...} whenever the run's state changes.
class JsonWatcher : public AuditWatcher {
 public:
  JsonWatcher(CommandEnv& env, std::ostream& out) : env_(env), out_(out) {}

  void Show(const v1::AuditRun& run) override {
    for (const NodeProgress& row : ProgressRows(run)) Node(run, row);
    const std::string state(AuditRunWord(run.state()));
    if (state == run_state_) return;
    run_state_ = state;
    OrderedJson json = Begin("run", run);
    json["state"] = state;
    json["verdict"] =
        run.verdict() == v1::VERDICT_UNSPECIFIED ? OrderedJson(nullptr) : OrderedJson(VerdictWord(run.verdict()));
    json["problem"] = run.problem();
    json["silent_nodes"] = std::vector<std::string>(run.silent_nodes().begin(), run.silent_nodes().end());
    Write(json);
  }

  void Note(const std::string& text) override {
    Write({{"event", "note"}, {"at", TimeJson(env_.now_unix_ms())}, {"message", text}});
  }

 private:
  struct Told {
    std::string state;
    std::string figures;
    std::int64_t at_ms = 0;
  };

  OrderedJson Begin(const char* event, const v1::AuditRun& run) const {
    OrderedJson json;
    json["event"] = event;
    json["at"] = TimeJson(env_.now_unix_ms());
    json["audit"] = run.audit();
    json["run"] = run.number();
    return json;
  }

  void Node(const v1::AuditRun& run, const NodeProgress& row) {
    Told& told = told_[Identity(row)];
    const std::string state = absl::StrCat(NodeTaskWord(row.state), "/", row.stage, "/", row.detail);
    const std::string figures = absl::StrCat(row.files_done, "/", row.files_total, "/", row.bytes_done);
    const std::int64_t now = env_.now_unix_ms();
    if (told.state == state && (told.figures == figures || now - told.at_ms < kProgressEventMs)) return;
    told = {state, figures, now};
    OrderedJson json = Begin("node", run);
    json["node"] = row.node;
    json["side"] = SideWord(row);
    json["state"] = NodeTaskWord(row.state);
    json["stage"] = row.stage;
    json["files_done"] = row.files_done;
    json["files_total"] = row.files_total > 0 ? OrderedJson(row.files_total) : OrderedJson(nullptr);
    json["bytes_done"] = row.bytes_done;
    json["bytes_total"] = row.bytes_total > 0 ? OrderedJson(row.bytes_total) : OrderedJson(nullptr);
    json["bytes_per_second"] = row.rate_bytes_per_s;
    const auto left = row.seconds_left();
    json["seconds_left"] = left ? OrderedJson(*left) : OrderedJson(nullptr);
    json["last_seen"] = TimeJson(row.last_seen_unix_ms);
    json["detail"] = row.detail;
    Write(json);
  }

  void Write(const OrderedJson& json) {
    out_ << DumpJson(json, -1) << "\n";
    out_.flush();
  }

  CommandEnv& env_;
  std::ostream& out_;
  std::map<std::string, Told> told_;
  std::string run_state_;
};

}  // namespace

std::optional<double> NodeProgress::fraction() const {
  const std::int64_t total = bytes_total > 0 ? bytes_total : files_total;
  const std::int64_t done = bytes_total > 0 ? bytes_done : files_done;
  if (total <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
}

std::optional<std::int64_t> NodeProgress::seconds_left() const {
  if (state != v1::NODE_TASK_STATE_RUNNING || bytes_total <= 0 || rate_bytes_per_s <= 0) return std::nullopt;
  return std::max<std::int64_t>(bytes_total - bytes_done, 0) / rate_bytes_per_s;
}

std::vector<NodeProgress> ProgressRows(const v1::AuditRun& run) {
  std::vector<NodeProgress> rows;
  std::map<std::pair<bool, std::string>, std::size_t> places;
  for (const v1::NodeTask& task : run.tasks()) {
    const auto [place, first] = places.try_emplace({task.migrated(), task.node()}, rows.size());
    if (first) rows.push_back({.node = task.node(), .migrated = task.migrated()});
    AddTask(task, first, rows[place->second]);
  }
  return rows;
}

std::string ProgressHeadline(const v1::AuditRun& run, std::int64_t now_unix_ms, Language language) {
  int done = 0;
  int silent = 0;
  int refused = 0;
  const std::vector<NodeProgress> rows = ProgressRows(run);
  for (const NodeProgress& row : rows) {
    done += row.state == v1::NODE_TASK_STATE_DONE ? 1 : 0;
    silent += row.state == v1::NODE_TASK_STATE_SILENT ? 1 : 0;
    refused += row.state == v1::NODE_TASK_STATE_REFUSED ? 1 : 0;
  }
  const std::string state = Localised(language, AuditRunWord(run.state()));
  std::vector<std::string> parts = {Localised(language, absl::StrCat(run.audit(), " run ", run.number(), ": ", state))};
  const auto add = [&](const std::string& part) { parts.push_back(Localised(language, part)); };
  if (!rows.empty()) add(absl::StrCat(done, " of ", rows.size(), " nodes done"));
  if (silent > 0) add(absl::StrCat(silent, " silent"));
  if (refused > 0) add(absl::StrCat(refused, " refused"));
  const std::int64_t end = run.ended_unix_ms() > 0 ? run.ended_unix_ms() : now_unix_ms;
  if (run.started_unix_ms() > 0 && end > run.started_unix_ms()) {
    parts.push_back(FormatDuration((end - run.started_unix_ms()) / 1000));
  }
  return absl::StrJoin(parts, Comma(language));
}

std::vector<std::string> ProgressBlock(const v1::AuditRun& run, std::int64_t now_unix_ms, TerminalSize size, bool ascii,
                                       Language language) {
  std::vector<NodeProgress> rows = ProgressRows(run);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const NodeProgress& a, const NodeProgress& b) { return Order(a.state) < Order(b.state); });
  const std::size_t columns = static_cast<std::size_t>(std::max(size.columns - 1, 20));
  const auto room = static_cast<std::size_t>(std::max(size.rows - 2, 1));  // beside headline and cursor
  const std::size_t shown = rows.size() <= room ? rows.size() : room - 1;
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, DisplayWidth(TerminalSafe(rows[i].node)));
  width = std::min(width, kNodeColumnsMax);
  std::vector<std::string> lines = {
      Shorten(TerminalSafe(ProgressHeadline(run, now_unix_ms, language)), columns, ascii)};
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string name = Pad(Shorten(TerminalSafe(rows[i].node), width, ascii), width);
    const std::string text =
        absl::StrCat(name, "  ", SideWord(rows[i], language), "  ", TerminalSafe(StateText(rows[i], ascii, language)));
    lines.push_back(Shorten(text, columns, ascii));
  }
  if (shown < rows.size()) {
    const std::string more = absl::StrCat(rows.size() - shown, " more nodes (", CountsOf(rows, shown, language), ")");
    lines.push_back(Shorten(absl::StrCat(ascii ? "..." : "…", " ", Localised(language, more)), columns, ascii));
  }
  return lines;
}

WatchStyle ChooseWatchStyle(const CommandEnv& env, bool is_terminal) {
  if (!is_terminal) return WatchStyle::kJson;
  return env.getenv("TERM") == "dumb" ? WatchStyle::kLines : WatchStyle::kBars;
}

std::unique_ptr<AuditWatcher> NewAuditWatcher(CommandEnv& env, WatchStyle style, std::ostream& out) {
  switch (style) {
    case WatchStyle::kBars: return std::make_unique<BarsWatcher>(env, out);
    case WatchStyle::kLines: return std::make_unique<LinesWatcher>(env, out);
    case WatchStyle::kJson: return std::make_unique<JsonWatcher>(env, out);
    default: return std::make_unique<QuietWatcher>();
  }
}

}  // namespace paritect
