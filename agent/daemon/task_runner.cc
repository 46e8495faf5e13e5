#include "agent/daemon/task_runner.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "agent/daemon/watched_file_system.h"
#include "agent/datasets/follow_up.h"
#include "agent/redaction.h"
#include "common/rooted_file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/evidence_parts.h"

namespace paritect {
namespace {

// Records are made durable in groups of about this size: few flushes of the disk, little memory.
constexpr std::size_t kGroupBytes = 1 << 20;

// The evidence of one attempt on its way into the spool.
class Attempt {
 public:
  Attempt(const v1::Task& task, Recorder& recorder, ServerContents* contents, Cancellation& cancellation,
          std::function<void(const absl::Status&)> waiting)
      : task_(task),
        recorder_(recorder),
        contents_(contents),
        cancellation_(cancellation),
        waiting_(std::move(waiting)) {}

  // The number of this record names the attempt.
  absl::Status Begin(const v1::PlanInfo& plan, const std::string& program) {
    v1::Record record;
    record.mutable_task_begin()->set_task_id(task_.id());
    *record.mutable_task_begin()->mutable_plan() = plan;
    record.mutable_task_begin()->set_program(program);
    PARITECT_ASSIGN_OR_RETURN(attempt_, Put(absl::MakeSpan(&record, 1), cancellation_));
    return absl::OkStatus();
  }

  absl::Status Add(v1::Evidence evidence) {
    const auto none = [](absl::FunctionRef<void(v1::FileEntry&)>) {};
    return AddPiece(evidence, TakeApart(evidence), none);
  }

  // `evidence` has its list without files. A list is asked for its files again rather than held, so that a task needs
  // little more memory than the table that its files stand in.
  absl::Status AddList(v1::Evidence evidence, FilesOfList files) {
    return AddPiece(evidence, TakeApart(evidence, files), files);
  }

  // `patience`: a task that was stopped still says so, however long the spool is full.
  absl::StatusOr<std::uint64_t> End(v1::TaskEnd end, Cancellation& patience) {
    end.set_task_id(task_.id());
    end.set_attempt(attempt_);
    end.set_pieces(pieces_);
    v1::Record record;
    *record.mutable_task_end() = std::move(end);
    return Put(absl::MakeSpan(&record, 1), patience);
  }

  int pieces() const { return pieces_; }

 private:
  absl::Status AddPiece(const v1::Evidence& evidence, absl::StatusOr<EvidenceParts> taken, FilesOfList files) {
    if (!taken.ok()) {
      v1::Evidence problem = ProblemEvidence(evidence.kind(), evidence.source(), taken.status());
      problem.set_subject(evidence.subject());
      if (evidence.has_rank()) problem.set_rank(evidence.rank());
      taken = TakeApart(problem);
      if (!taken.ok()) return taken.status();
    }
    PARITECT_RETURN_IF_ERROR(AddContents(*taken, files));
    v1::Piece& piece = *group_.emplace_back().mutable_piece();
    piece = std::move(taken->piece);
    piece.set_task_id(task_.id());
    piece.set_attempt(attempt_);
    piece.set_index(pieces_++);
    return Flush();
  }

  // What the server lacks of a piece, contents before the nodes above them. Small pieces are not worth a question.
  absl::Status AddContents(EvidenceParts& taken, FilesOfList files) {
    constexpr std::int64_t kAskBytesMin = 16 << 10;
    absl::flat_hash_map<std::string, std::string*> wanted;  // by digest; each goes once an attempt
    std::vector<std::string> order;
    for (EvidenceParts::Content& one : taken.contents) {
      if (sent_.contains(one.sha256) || !wanted.emplace(one.sha256, &one.bytes).second) continue;
      order.push_back(one.sha256);
    }
    TreeExchange exchange;
    exchange.leaves = order;
    // A server that could not be asked once is not waited for again.
    const bool worth_it = taken.piece.total_bytes() >= kAskBytesMin;
    if (worth_it && contents_ != nullptr && !contents_->Answers(cancellation_)) contents_ = nullptr;
    if (worth_it && contents_ != nullptr) {
      exchange = Exchange(taken, std::move(order));
    } else {
      WithoutTree(taken);
    }
    absl::flat_hash_set<std::string> of_files;  // what stands in the files alone
    if (taken.without_files) {
      for (std::size_t i = taken.files_begin; i < taken.files_end; ++i) of_files.insert(taken.contents[i].sha256);
    }
    absl::flat_hash_set<std::string> files_wanted;
    for (const std::string& digest : exchange.leaves) {
      const auto found = wanted.find(digest);
      if (found == wanted.end() || !sent_.insert(digest).second) continue;
      if (of_files.contains(digest)) {
        files_wanted.insert(digest);
      } else {
        PARITECT_RETURN_IF_ERROR(AddPart(digest, std::move(*found->second), 0));
      }
    }
    PARITECT_RETURN_IF_ERROR(AddFileParts(taken, files, std::move(files_wanted)));
    for (const TreeNode& node : exchange.nodes) {
      if (!sent_.insert(node.sha256).second) continue;
      PARITECT_RETURN_IF_ERROR(AddPart(node.sha256, taken.tree.nodes.at(node.sha256), node.level));
    }
    return absl::OkStatus();
  }

  absl::Status AddFileParts(const EvidenceParts& taken, FilesOfList files, absl::flat_hash_set<std::string> wanted) {
    absl::Status status;
    if (wanted.empty()) return status;
    ForEachFilePart(files, [&](std::size_t n, absl::string_view bytes) {
      if (!status.ok() || taken.files_begin + n >= taken.files_end) return;
      const std::string& digest = taken.contents[taken.files_begin + n].sha256;
      if (wanted.erase(digest) > 0) status = AddPart(digest, std::string(bytes), 0);
    });
    return status;
  }

  // From the root down, level by level, only below what the server does not hold. `contents`: all, for the case that
  // there is no tree, and for what stands beside it.
  TreeExchange Exchange(const EvidenceParts& taken, std::vector<std::string> contents) {
    const auto held = [&](const std::vector<std::string>& digests, int level) {
      return contents_->Held(task_.id(), digests, level, cancellation_);
    };
    TreeExchange exchange;
    if (taken.tree.depth > 0) {
      exchange = PlanExchange(taken.tree, held);
      contents = ReferencesOf(taken.piece);
      std::erase(contents, taken.tree.root);
    }
    const std::vector<bool> known = held(contents, 0);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (i >= known.size() || !known[i]) exchange.leaves.push_back(contents[i]);
    }
    return exchange;
  }

  absl::Status AddPart(const std::string& digest, std::string content, int level) {
    v1::ContentPart& part = *group_.emplace_back().mutable_part();
    part.set_sha256(digest);
    part.set_content(std::move(content));
    part.set_level(level);
    group_bytes_ += part.content().size();
    return group_bytes_ < kGroupBytes ? absl::OkStatus() : Flush();
  }

  absl::Status Flush() {
    if (group_.empty()) return absl::OkStatus();
    const auto put = Put(absl::MakeSpan(group_), cancellation_);
    group_.clear();
    group_bytes_ = 0;
    return put.status();
  }

  absl::StatusOr<std::uint64_t> Put(absl::Span<v1::Record> records, Cancellation& patience) {
    return recorder_.Put(RecordClass::kCritical, records, patience, [this](const absl::Status& why) { waiting_(why); });
  }

  const v1::Task& task_;
  Recorder& recorder_;
  ServerContents* contents_;
  Cancellation& cancellation_;
  const std::function<void(const absl::Status&)> waiting_;
  std::uint64_t attempt_ = 0;
  int pieces_ = 0;
  std::set<std::string> sent_;  // digests of parts; equal parts go once an attempt
  std::vector<v1::Record> group_;
  std::size_t group_bytes_ = 0;
};

// How far a task has come, all its stages taken together: each collector counts from zero, also each of several data
// sets, and what reads no data set counts nothing itself.
class Figures {
 public:
  explicit Figures(const WatchedFileSystem& read) : read_(read) {}

  void Take(const CollectProgress& now) {
    const bool counts = now.files_total > 0 || now.files_done > 0 || now.bytes_total > 0 || now.bytes_done > 0;
    if (now.stage != stage_ || now.files_done < stage_now_.files_done) Close();
    stage_ = std::string(now.stage);
    counts_ = counts_ || counts;
    stage_now_ = now;
  }

  // What is done since the stage began is what it counts, else what was opened and read.
  void Put(v1::TaskProgress& progress) const {
    const CollectProgress stage = Stage();
    progress.set_stage(stage_);
    progress.set_files_done(before_.files_done + stage.files_done);
    progress.set_files_total(before_.files_total + stage.files_total);
    progress.set_bytes_done(before_.bytes_done + stage.bytes_done);
    progress.set_bytes_total(before_.bytes_total + stage.bytes_total);
  }

 private:
  CollectProgress Stage() const {
    if (counts_) return stage_now_;
    CollectProgress stage;
    stage.files_done = stage.files_total = read_.files_opened() - opened_before_;
    stage.bytes_done = stage.bytes_total = read_.bytes_read() - read_before_;
    return stage;
  }

  void Close() {
    const CollectProgress stage = Stage();
    before_.files_done += stage.files_done;
    before_.files_total += stage.files_total;
    before_.bytes_done += stage.bytes_done;
    before_.bytes_total += stage.bytes_total;
    opened_before_ = read_.files_opened();
    read_before_ = read_.bytes_read();
    counts_ = false;
    stage_now_ = CollectProgress();
  }

  const WatchedFileSystem& read_;
  std::string stage_;
  CollectProgress before_, stage_now_;
  bool counts_ = false;  // the stage does itself
  std::int64_t opened_before_ = 0;
  std::int64_t read_before_ = 0;
};

v1::PlanInfo AsRun(const v1::PlanInfo& asked, const std::string& node) {
  v1::PlanInfo info = asked;
  if (info.node().empty()) info.set_node(node);
  return info;
}

// A plan that does not say is taken to want the node too: that is what agents are for.
v1::Plan PlanOf(const v1::Task& task, const std::string& node) {
  v1::Plan plan = task.plan();
  *plan.mutable_info() = AsRun(plan.info(), node);
  if (!plan.info().has_live()) plan.mutable_info()->set_live(true);
  return plan;
}

// Whether the node itself is all that can tell of the run.
bool TellsOfNoRun(const v1::Plan& plan) {
  return plan.logs().empty() && plan.settings().empty();
}

// A follow-up: single files of lists that this node gave earlier, one list an evidence.
void AnswerQuestions(FileSystem& fs, const v1::Task& task, EvidenceSink sink) {
  std::map<std::int32_t, std::vector<const v1::FileQuestion*>> lists;
  for (const v1::FileQuestion& question : task.questions()) lists[question.evidence()].push_back(&question);
  for (auto& [index, questions] : lists) {
    std::sort(questions.begin(), questions.end(),
              [](const v1::FileQuestion* a, const v1::FileQuestion* b) { return a->path() < b->path(); });
    v1::Evidence evidence;
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_subject(absl::StrCat(index));
    v1::FileList& list = *evidence.mutable_files();
    list.set_root(questions[0]->root());
    for (const v1::FileQuestion* question : questions) {
      v1::FileEntry& entry = *list.add_files();
      entry.set_path(question->path());
      entry.set_size_bytes(question->size_bytes());
    }
    for (const v1::FileQuestion* question : questions) {
      AnswerDatasetQuestion(fs, question->path(), {question->laws().begin(), question->laws().end()}, list);
    }
    sink(std::move(evidence));
  }
}

}  // namespace

absl::StatusOr<std::uint64_t> TaskRunner::Run(const v1::Task& task, const TaskBounds& bounds,
                                              Cancellation& cancellation, Cancellation& shutdown) {
  const v1::Plan plan = PlanOf(task, node_);
  v1::TaskProgress progress;
  progress.set_task_id(task.id());
  Attempt attempt(task, recorder_, ports_.contents, cancellation, [&](const absl::Status& why) {
    log_.Warning(absl::StrCat("task ", task.id(), " waits: ", why.message()));
    progress.set_stage("spool_full");
    ports_.progress(progress, false);
  });
  PARITECT_RETURN_IF_ERROR(attempt.Begin(plan.info(), program_));

  RootedFileSystem rooted(bounds.roots);
  BandwidthLimit bandwidth(bounds.bytes_per_second);
  LimitedFileSystem limited(rooted, bandwidth);
  WatchedFileSystem watched(limited, cancellation);
  std::optional<LiveNode> live;
  if (ports_.live != nullptr) live.emplace(LiveNode{ports_.live->fs, ports_.live->probe, ports_.wall_ms()});
  CollectorEnv env = {.fs = watched,
                      .rules = rules_,
                      .for_bundle = true,
                      .redaction_key = task.redaction_key(),
                      .live = live ? &*live : nullptr,
                      .live_processes = task.plan().info().live() || TellsOfNoRun(task.plan())};
  env.in_clear = bounds.in_clear;
  env.digest_cache = ports_.digest_cache;
  Figures figures(watched);
  env.progress = [&](const CollectProgress& now) {
    figures.Take(now);
    figures.Put(progress);
    progress.set_current(DisplayBytes(watched.current()));
    ports_.progress(progress, false);
  };
  absl::Status failed;
  const auto keep = [&](v1::Evidence evidence) {
    // What was cut short by the stop is no evidence of anything.
    if (failed.ok() && !cancellation.stopped()) failed = attempt.Add(std::move(evidence));
  };
  const auto keep_list = [&](v1::Evidence evidence, FilesOfList files) {
    if (failed.ok() && !cancellation.stopped()) failed = attempt.AddList(std::move(evidence), files);
  };
  if (task.questions().empty()) {
    CollectPlanInto(env, plan, {keep, keep_list});
  } else {
    AnswerQuestions(watched, task, keep);
  }

  figures.Put(progress);
  ports_.progress(progress, true);

  const StopReason stop = cancellation.reason();
  if (stop == StopReason::kShutdown) return absl::CancelledError("the agent shuts down");
  v1::TaskEnd end;
  *end.mutable_plan() = plan.info();
  end.set_collected_at_unix_ms(ports_.wall_ms());
  end.set_program(program_);
  end.set_cancelled(stop != StopReason::kNone);
  if (!failed.ok() && !end.cancelled())
    end.set_refused(absl::StrCat("the evidence could not be kept: ", failed.message()));
  log_.Info(absl::StrCat("task ", task.id(), end.cancelled() ? " stopped, " : " done, ", attempt.pieces(),
                         " pieces of evidence"));
  return attempt.End(std::move(end), shutdown);
}

absl::Status TaskRunner::Deliver(v1::Bundle bundle, Cancellation& stop) {
  static std::atomic<std::uint64_t> count = 0;  // several in one millisecond
  v1::Task task;
  task.set_id(absl::StrCat("own:", DisplayBytes(bundle.plan().run()), ":", ports_.wall_ms(), ".", ++count));
  v1::PlanInfo info = bundle.plan();
  info.set_node(node_);
  WithholdSecrets(info);
  Attempt attempt(task, recorder_, nullptr, stop, [&](const absl::Status& why) {
    log_.Warning(absl::StrCat("run ", DisplayBytes(info.run()), " waits: ", why.message()));
  });
  PARITECT_RETURN_IF_ERROR(attempt.Begin(info, program_));
  for (v1::Evidence& evidence : *bundle.mutable_evidence()) {
    WithholdSecrets(rules_.settings, evidence, RedactionOptions());  // whatever program a user handed it over with
    PARITECT_RETURN_IF_ERROR(attempt.Add(std::move(evidence)));
  }
  v1::TaskEnd end;
  *end.mutable_plan() = info;
  end.set_collected_at_unix_ms(bundle.collected_at_unix_ms() > 0 ? bundle.collected_at_unix_ms() : ports_.wall_ms());
  end.set_program(bundle.collected_by().empty() ? program_ : bundle.collected_by());
  return attempt.End(std::move(end), stop).status();
}

absl::StatusOr<std::uint64_t> TaskRunner::End(const v1::Task& task, Cancellation& shutdown) {
  Attempt attempt(task, recorder_, nullptr, shutdown, [](const absl::Status&) {});
  v1::TaskEnd end;
  *end.mutable_plan() = AsRun(task.plan().info(), node_);
  end.set_program(program_);
  end.set_cancelled(true);
  return attempt.End(std::move(end), shutdown);
}

}  // namespace paritect
