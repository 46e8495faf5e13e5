#include "formats/observer/observed_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/recorded_formats.h"
#include "formats/observer/agreement.h"
#include "formats/observer/data_part.h"
#include "formats/observer/generator_part.h"
#include "formats/observer/model_part.h"
#include "formats/observer/precision_part.h"
#include "formats/observer/steps_part.h"
#include "formats/observer/value_text.h"
#include "formats/settings/settings_format.h"
#include "rules/contradictions.h"
#include "rules/launchers.h"

namespace paritect {

// Why something may not be in a record: nothing passes on what it does not show.
struct ObserverGap {
  std::string kind;  // "late", "full", "lost", "off", "throttled", "bounded", "cut", "unread"
  std::string text;
  std::int64_t line = 0;
};

struct ObservedProcess {
  std::string file, host, main, level, end, parent;
  std::string id;  // "PID-START" on that host
  std::int64_t pid = 0, parent_pid = 0, line = 0;
  std::vector<std::string> environment;
  std::optional<std::int32_t> rank, world;
  std::string framework, version, backend;
  std::int64_t framework_line = 0, group_line = 0;
  bool untried = false;
  double began = 0, last = 0;  // Unix time of the first and the last record
  std::vector<ObserverGap> gaps;
  Agreement agreement;
  DataPart data;
  ModelPart model;
  StepsPart steps;
  PrecisionPart precision;
  GeneratorPart generators;

  bool trained() const { return steps.stepped() || model.trained(); }
  std::vector<Contradiction> Contradictions() const { return agreement.Finish(whole()); }
  // A process that was killed told all until then.
  bool whole() const {
    return std::all_of(gaps.begin(), gaps.end(), [](const ObserverGap& gap) { return gap.kind == "cut"; });
  }
};

namespace {

constexpr std::size_t kProcessesMax = 1000;  // of a file
constexpr std::size_t kGapsMax = 1000;

std::string FieldOf(const DocumentNode* map, absl::string_view field) {
  const DocumentNode* found = map == nullptr ? nullptr : map->Find(field);
  return found != nullptr && found->is_scalar() ? found->text : "";
}

// Reads one file: the identity of its processes, and the rest by parts.
class FileReader {
 public:
  explicit FileReader(ObservedFile& file) : file_(file) {}

  void Take(const ObservedRecord& record) {
    const std::string kind = record.kind();
    if (kind == "begin" || processes_.empty()) {
      if (processes_.size() >= kProcessesMax) return;
      processes_.push_back(std::make_shared<ObservedProcess>());
      processes_.back()->file = file_.name;
    }
    ObservedProcess& process = *processes_.back();
    process.agreement.Take(record);
    process.last = std::max(process.last, record.Number("t").value_or(0));
    if (TakeIdentity(record, kind, process) || TakeGap(record, kind, process)) return;
    if (process.data.Take(record) || process.model.Take(record) || process.steps.Take(record)) return;
    if (process.generators.Take(record)) return;
    process.precision.Take(record);
  }

  void Finish() {
    if (processes_.empty()) return;
    ObservedProcess& last = *processes_.back();
    if (file_.counts.cut) last.gaps.push_back({"cut", "the last record is not whole", 0});
    if (file_.counts.unread > 0) {
      last.gaps.push_back({"unread", absl::StrCat(file_.counts.unread, " lines"), file_.counts.first_unread});
    }
    for (auto& process : processes_) {
      process->data.TellUses(process->model.fed(), process->model.fed_in_evaluation());
      file_.processes.push_back(process);
    }
  }

 private:
  static bool TakeIdentity(const ObservedRecord& record, const std::string& kind, ObservedProcess& process) {
    if (kind == "begin") {
      Begin(record, process);
    } else if (kind == "framework") {
      // Of several the one that trains stands first; its additions (torch_npu) beside it.
      if (!process.framework.empty()) return true;
      process.framework = record.Text("name");
      process.version = record.Text("version");
      process.framework_line = record.line();
      process.untried = record.Boolean("tried") == false;
    } else if (kind == "process_group" || kind == "rank") {
      if (const auto rank = record.Integer("rank")) process.rank = static_cast<std::int32_t>(*rank);
      if (const auto world = record.Integer("world")) process.world = static_cast<std::int32_t>(*world);
      if (kind == "process_group") process.backend = record.Text("backend"), process.group_line = record.line();
    } else if (kind == "end") {
      process.end = record.Text("why").empty() ? "exit" : record.Text("why");
    } else {
      return false;
    }
    return true;
  }

  static void Begin(const ObservedRecord& record, ObservedProcess& process) {
    process.host = record.Text("host");
    process.id = absl::StrCat(record.Text("pid"), "-", record.Text("start"));
    process.pid = record.Integer("pid").value_or(0);
    process.parent_pid = record.Integer("ppid").value_or(0);
    process.main = record.Text("main");
    process.level = record.Text("level");
    process.line = record.line();
    process.began = record.Number("t").value_or(0);
    if (const DocumentNode* parent = record.Find("parent")) {
      process.parent = absl::StrCat(FieldOf(parent, "pid"), "-", FieldOf(parent, "start"));
    }
    if (record.Boolean("late").value_or(false)) {
      process.gaps.push_back({"late", "the framework was imported before the observer came", record.line()});
    }
    if (const DocumentNode* variables = record.Find("env"); variables != nullptr) {
      for (const auto& [name, value] : variables->fields) {
        process.environment.push_back(absl::StrCat(name.text, "=", value.text));
      }
    }
  }

  static bool TakeGap(const ObservedRecord& record, const std::string& kind, ObservedProcess& process) {
    ObserverGap gap = {kind, "", record.line()};
    if (kind == "off") {
      gap.text = record.Text("site");
    } else if (kind == "lost") {
      gap.text = absl::StrCat(record.Text("count"), " records");
    } else if (kind == "full") {
      gap.text = absl::StrCat(record.Text("bytes"), " bytes");
    } else if (kind == "bounded") {
      gap.text = absl::StrCat("more than ", record.Text("most"), " ", record.Text("what"));
    } else if (kind == "throttled") {
      gap.text = "only every 100th step is told";
    } else {
      return kind == "error";
    }
    if (process.gaps.size() < kGapsMax) process.gaps.push_back(std::move(gap));
    return true;
  }

  ObservedFile& file_;
  std::vector<std::shared_ptr<ObservedProcess>> processes_;
};

struct Place {
  std::int32_t rank = -1;
  std::int32_t world = 0;
  bool assumed = false;  // nothing tells it
};

Place PlaceOf(const ObservedProcess& process, std::size_t trained) {
  const LaunchPlace launched = BuiltInLaunchers().PlaceOf(process.environment);
  Place place;
  place.rank = process.rank.value_or(launched.rank.value_or(-1));
  place.world = process.world.value_or(launched.world_size.value_or(0));
  // Ranks begin at 0: what a stranger's file says otherwise is none.
  if (place.rank >= 0) return place;
  if (trained == 1 && place.world <= 1) return {0, 1, true};
  place.rank = -1;
  place.assumed = true;
  return place;
}

std::string Framework(const std::string& name) {
  return name == "torch" || name == "torch_npu" ? "pytorch" : name;
}

class Assembler {
 public:
  explicit Assembler(const std::vector<ObservedFile>& files) {
    for (const ObservedFile& file : files) {
      for (const auto& process : file.processes) {
        if (process->trained()) trained_.push_back(process.get());
        if (!process->trained()) others_.push_back(process.get());
      }
    }
  }

  std::vector<v1::Evidence> Assemble() {
    std::map<std::int32_t, std::vector<const ObservedProcess*>> by_rank;
    for (const ObservedProcess* process : trained_) by_rank[PlaceOf(*process, trained_.size()).rank].push_back(process);
    for (auto& [rank, processes] : by_rank) {
      std::stable_sort(processes.begin(), processes.end(),
                       [](const auto* a, const auto* b) { return a->began < b->began; });
      // Without a rank nothing tells which of several came after which: each stands for itself.
      if (rank < 0) {
        for (const ObservedProcess* process : processes) Emit(*process, {});
      } else {
        Emit(*processes.back(), {processes.begin(), processes.end() - 1});
      }
    }
    return std::move(evidence_);
  }

 private:
  v1::Evidence& Add(v1::EvidenceKind kind) {
    v1::Evidence& one = evidence_.emplace_back();
    one.set_kind(kind);
    one.set_outcome(v1::OUTCOME_COLLECTED);
    one.set_source(process_->file);
    if (place_.rank >= 0) one.set_rank(place_.rank);
    return one;
  }

  // What cannot be true at once of the process, alone and beside the others of its rank.
  std::vector<Contradiction> ContradictionsOf(const ObservedProcess& process,
                                              const std::vector<const ObservedProcess*>& earlier) const {
    std::vector<Contradiction> all = process.Contradictions();
    const bool outside = place_.world > 0 && place_.rank >= place_.world;
    const bool none = process.rank.value_or(0) < 0 || process.world.value_or(1) < 1;
    if (outside || none) {
      all.push_back({"rank_outside_world", absl::StrCat("rank=", process.rank.value_or(place_.rank)),
                     absl::StrCat("world=", process.world.value_or(place_.world)),
                     process.group_line > 0 ? process.group_line : process.line});
    }
    for (const ObservedProcess* other : earlier) {
      // A restarted process begins when the one before is gone.
      if (other->last <= process.began) continue;
      all.push_back({"rank_twice", absl::StrCat(process.host, "-", process.id),
                     absl::StrCat(other->host, "-", other->id), process.line});
      break;
    }
    return all;
  }

  // Whether nothing takes the part of the record away.
  bool Stands(absl::string_view part) const { return !taken_away_.contains(part) && !taken_away_.contains("process"); }

  void Emit(const ObservedProcess& process, const std::vector<const ObservedProcess*>& earlier) {
    process_ = &process;
    place_ = PlaceOf(process, trained_.size());
    const std::vector<Contradiction> contradictions = ContradictionsOf(process, earlier);
    taken_away_.clear();
    for (const Contradiction& one : contradictions) {
      for (std::string& part : BuiltInContradictions().PartsOf(one.kind)) taken_away_.insert(std::move(part));
    }
    // A rank beyond its world is no place for what is told.
    if (place_.world > 0 && place_.rank >= place_.world) place_ = {-1, 0, place_.assumed};
    EmitFacts(earlier.size(), contradictions);
    if (Stands("steps") && Stands("model")) EmitDocument(process.steps.Groups(process.file));
    if (Stands("model")) EmitModel();
    if (process.steps.stepped() && Stands("steps")) *Add(v1::EVIDENCE_KIND_RUN_LOG).mutable_run_log() = Log();
    if (Stands("samples")) EmitLists();
    if (Stands("model")) EmitWeights(process.model.States(), process.steps.Changes());
    if (Stands("model")) EmitOperators();
  }

  void EmitModel() {
    const std::string printed = process_->model.PrintedModel();
    if (printed.empty()) return;
    auto documents = ReadSettings(printed, process_->file, "model");
    for (v1::SettingsDocument& one : documents.ok() ? *documents : std::vector<v1::SettingsDocument>()) {
      EmitDocument(std::move(one));
    }
  }

  void EmitLists() {
    for (v1::ShardList& list : process_->data.Lists()) {
      if (place_.rank >= 0) list.set_rank(place_.rank);
      if (place_.world > 0) list.set_world_size(place_.world);
      v1::Evidence& one = Add(v1::EVIDENCE_KIND_SHARDS);
      one.set_subject(list.dataset());
      *one.mutable_shards() = std::move(list);
    }
  }

  // A state with the gradients and changes of the step that led to it.
  void EmitWeights(std::vector<v1::Weights> all, std::vector<v1::Weights> changes) {
    for (v1::Weights& change : changes) {
      const auto state =
          std::find_if(all.begin(), all.end(), [&](const v1::Weights& one) { return one.step() == change.step(); });
      if (state == all.end()) {
        all.push_back(std::move(change));
        continue;
      }
      AddSigns(change, *state);
      for (v1::TensorFingerprint& tensor : *change.mutable_tensors()) *state->add_tensors() = std::move(tensor);
      state->mutable_incomplete()->MergeFrom(change.incomplete());
    }
    for (v1::Weights& weights : all) {
      if (place_.rank >= 0) weights.set_rank(place_.rank);
      *Add(v1::EVIDENCE_KIND_WEIGHTS).mutable_weights() = std::move(weights);
    }
  }

  // Where the change of a parameter went stands with the parameter, as checkpoints have it: the smallest have no
  // sketch.
  static void AddSigns(const v1::Weights& change, v1::Weights& state) {
    std::map<absl::string_view, absl::string_view> signs;
    for (const v1::TensorFingerprint& tensor : change.tensors()) {
      if (tensor.role() == v1::TENSOR_ROLE_UPDATE) signs.emplace(tensor.name(), tensor.sampled_signs());
    }
    for (v1::TensorFingerprint& tensor : *state.mutable_tensors()) {
      const auto found = signs.find(tensor.name());
      if (tensor.role() != v1::TENSOR_ROLE_PARAMETER || found == signs.end()) continue;
      tensor.set_sampled_signs(std::string(found->second));
    }
  }

  void EmitOperators() {
    const v1::TensorDump* dump = process_->model.operators();
    if (dump == nullptr) return;
    v1::Evidence& one = Add(v1::EVIDENCE_KIND_TENSORS);
    v1::TensorDump& made = *one.mutable_tensor_dump();
    made = *dump;
    made.set_format(kObservedFormat);
    made.set_step(0);
    made.set_framework(Framework(process_->framework));
    made.set_level("module");
    made.set_task("statistics");
    if (place_.rank >= 0) made.set_rank(place_.rank);
    if (!process_->model.operators_whole()) made.add_incomplete()->set_id("observed_operators_cut");
  }

  v1::RunLog Log() const {
    v1::RunLog log = process_->steps.Log();
    for (v1::StepRecord& record : *log.mutable_records()) {
      if (place_.rank >= 0) record.set_rank(place_.rank);
    }
    return log;
  }

  void EmitDocument(v1::SettingsDocument document) {
    if (document.settings_size() > 0) *Add(v1::EVIDENCE_KIND_SETTINGS).mutable_settings() = std::move(document);
  }

  static void AddContradictions(const std::vector<Contradiction>& contradictions, SettingsBuilder& facts) {
    int number = 0;
    for (const Contradiction& one : contradictions) {
      const std::string scope = absl::StrCat("contradiction ", number++);
      const std::string parts = absl::StrJoin(BuiltInContradictions().PartsOf(one.kind), ",");
      for (const auto& [key, value] : {std::pair("kind", one.kind), std::pair("part", parts),
                                       std::pair("told", one.told), std::pair("other", one.other)}) {
        v1::Setting* fact = facts.AddText(absl::StrCat("observed.contradiction.", key), value, one.line);
        if (fact != nullptr) fact->set_scope(scope);
      }
    }
  }

  void EmitFacts(std::size_t earlier, const std::vector<Contradiction>& contradictions) {
    const ObservedProcess& process = *process_;
    SettingsBuilder facts(kObservedFormat, kObservedFormat, process.file);
    facts.AddText("observed.process", absl::StrCat(process.host, "-", process.id), process.line);
    facts.AddText("observed.level", process.level, process.line);
    if (!process.end.empty()) facts.AddText("observed.end", process.end, process.line);
    if (earlier > 0) facts.AddText("observed.earlier", absl::StrCat(earlier), process.line);
    if (process.untried) facts.AddText("observed.untried", process.framework, process.framework_line);
    for (const ObserverGap& gap : process.gaps) {
      v1::Setting* one = facts.AddText("observed.gap", gap.text, gap.line);
      if (one != nullptr) one->set_scope(gap.kind);
    }
    AddContradictions(contradictions, facts);
    if (!process.framework.empty()) {
      facts.AddText("framework", Framework(process.framework), process.framework_line);
      facts.AddText(absl::StrCat("package.", process.framework), process.version, process.framework_line);
    }
    if (place_.world > 0) facts.Add("world_size", absl::StrCat(place_.world), process.line);
    if (!process.backend.empty()) facts.AddText("distributed_backend", process.backend, process.group_line);
    // Other processes of the run, in this folder or on other nodes, may state none either.
    if (place_.assumed) facts.AddText("observed.rank_assumed", "true", process.line);
    const PrecisionPart::Told told = {process.whole(), Stands("types"), Stands("scaler")};
    if (Stands("process")) process.precision.AddFacts(process.model, process.steps.TrainedType(), told, facts);
    if (Stands("steps")) process.steps.AddFacts(process.whole() && !process.precision.has_engine(), facts);
    if (Stands("seed")) process.generators.AddFacts(facts);
    if (Stands("samples")) {
      process.data.AddFacts(facts);
      process.data.AddWorkerFacts(WorkersOf(process), facts);
    }
    if (Stands("model")) process.model.AddFacts(facts);
    EmitDocument(facts.Finish());
  }

  // The random states of the workers that a process started.
  std::vector<ObservedWorker> WorkersOf(const ObservedProcess& process) const {
    std::vector<ObservedWorker> workers;
    for (const ObservedProcess* other : others_) {
      const bool forked = !other->parent.empty() ? other->parent == process.id : other->parent_pid == process.pid;
      if (other->host != process.host || !forked) continue;
      const auto& states = other->data.own_states();
      workers.insert(workers.end(), states.begin(), states.end());
    }
    return workers;
  }

  std::vector<const ObservedProcess*> trained_, others_;
  std::vector<v1::Evidence> evidence_;
  const ObservedProcess* process_ = nullptr;
  std::set<std::string, std::less<>> taken_away_;  // parts of its record that contradictions take away
  Place place_;
};

}  // namespace

absl::StatusOr<ObservedFile> ReadObservedFile(absl::string_view bytes, absl::string_view name) {
  if (bytes.size() > kObserverFileBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kObserverFileBytesMax, " bytes"));
  }
  ObservedFile file;
  file.name = std::string(name);
  FileReader reader(file);
  ForEachRecord(bytes, file.counts, [&](const ObservedRecord& record) { reader.Take(record); });
  if (file.counts.records == 0) return absl::DataLossError("no record of the observer");
  reader.Finish();
  return file;
}

std::vector<v1::Evidence> AssembleObserved(const std::vector<ObservedFile>& files) {
  return Assembler(files).Assemble();
}

ObservedSummary Summarise(const ObservedFile& file) {
  ObservedSummary summary;
  summary.incarnations = static_cast<int>(file.processes.size());
  for (const auto& process : file.processes) {
    summary.process = absl::StrCat(process->host, "-", process->id);
    summary.main = process->main;
    summary.trained = summary.trained || process->trained();
    summary.ended = !process->end.empty();
    for (const ObserverGap& gap : process->gaps) summary.gaps.push_back(absl::StrCat(gap.kind, ": ", gap.text));
  }
  return summary;
}

}  // namespace paritect
