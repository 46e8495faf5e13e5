#include "rules/launchers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "rules/built_in.h"

namespace paritect {
namespace {

constexpr std::int64_t kRanksMax = 1 << 24;
constexpr std::size_t kNameBytesMax = 48;  // a record of the recorder has room for that (agent/trace/trace_record.c)

// --- the table --------------------------------------------------------------------------------------------

const std::map<std::string, LauncherField, std::less<>>& Fields() {
  static const auto* const fields = new std::map<std::string, LauncherField, std::less<>>{
      {"rank", LauncherField::kRank},
      {"world_size", LauncherField::kWorldSize},
      {"local_rank", LauncherField::kLocalRank},
      {"local_size", LauncherField::kLocalSize},
      {"node_rank", LauncherField::kNodeRank},
      {"node_index", LauncherField::kNodeIndex},
      {"restarts", LauncherField::kRestarts},
      {"tasks", LauncherField::kTasks},
      {"nodes", LauncherField::kBeside},
      {"devices", LauncherField::kBeside},
  };
  return *fields;
}

// The build's script finds the names by this form (cmake/launcher_variables.cmake).
bool IsVariableName(absl::string_view name) {
  if (name.size() < 2 || name.size() > kNameBytesMax || name[0] < 'A' || name[0] > 'Z') return false;
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == absl::string_view::npos;
}

absl::Status AddNames(const DocumentNode& value, std::vector<std::string>& names) {
  const auto add = [&](const DocumentNode& one) {
    if (!one.is_scalar() || one.quoted || !IsVariableName(one.text)) {
      return ErrorAt(one, "the name of a variable, in capitals and without quotes, is needed");
    }
    names.push_back(one.text);
    return absl::OkStatus();
  };
  if (!value.is_list()) return add(value);
  for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(add(one));
  return absl::OkStatus();
}

absl::StatusOr<Launcher> ReadLauncher(const DocumentNode& node) {
  Launcher out;
  for (const auto& [key, value] : node.fields) {
    const auto field = Fields().find(key.text);
    if (field != Fields().end()) {
      PARITECT_RETURN_IF_ERROR(AddNames(value, out.variables[field->second]));
    } else if (key.text == "when") {
      PARITECT_RETURN_IF_ERROR(AddNames(value, out.when));
    } else if (key.text == "name" && value.is_scalar()) {
      out.name = value.text;
    } else if (key.text == "source" && value.is_scalar()) {
      out.source = value.text;
    } else if (key.text == "needs_size" && value.text == "true") {
      out.needs_size = true;
    } else if (key.text == "counts" && value.text == "processes") {
      out.counts_processes = true;
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "', or not its value"));
    }
  }
  if (out.name.empty() || out.source.empty() || out.variables.empty()) {
    return ErrorAt(node, "a launcher needs `name`, `source` and its variables");
  }
  return out;
}

absl::StatusOr<JobVariables> ReadJob(const DocumentNode& node) {
  JobVariables out;
  for (const auto& [key, value] : node.fields) {
    if (key.text == "source") continue;
    std::string* place = key.text == "host"   ? &out.host
                         : key.text == "port" ? &out.port
                         : key.text == "job"  ? &out.job
                                              : nullptr;
    if (place == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    std::vector<std::string> names;
    PARITECT_RETURN_IF_ERROR(AddNames(value, names));
    if (names.size() != 1) return ErrorAt(value, "one variable is needed");
    *place = names[0];
  }
  if (out.host.empty() == out.job.empty()) return ErrorAt(node, "either `host` or `job` is needed");
  return out;
}

// --- a process ---------------------------------------------------------------------------------------------

const std::vector<std::string>& NamesOf(const Launcher& launcher, LauncherField field) {
  static const auto* const none = new std::vector<std::string>;
  const auto names = launcher.variables.find(field);
  return names == launcher.variables.end() ? *none : names->second;
}

std::optional<std::int32_t> AsNumber(absl::string_view text) {
  const auto value = ParseInt(text);
  if (!value || *value < 0 || *value > kRanksMax) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

struct Told {
  std::optional<std::int32_t> value;
  absl::string_view name;
};

Told NumberOf(const Launcher& launcher, LauncherField field, VariableLookup lookup) {
  for (const std::string& name : NamesOf(launcher, field)) {
    absl::string_view text = lookup(name);
    // "8(x2),4": eight tasks on the first two nodes. Whether this is one of them does not show; several tasks do.
    if (field == LauncherField::kLocalSize) text = text.substr(0, text.find_first_of("(,"));
    if (const auto value = AsNumber(text)) return {value, name};
  }
  return {};
}

// Of "8(x2),4" the number of this node is not known.
bool IsEven(const Launcher& launcher, VariableLookup lookup) {
  const std::vector<std::string>& names = NamesOf(launcher, LauncherField::kLocalSize);
  return std::none_of(names.begin(), names.end(),
                      [&](const std::string& name) { return absl::StrContains(lookup(name), ','); });
}

bool Holds(const Launcher& launcher, VariableLookup lookup) {
  return launcher.when.empty() || std::any_of(launcher.when.begin(), launcher.when.end(),
                                              [&](const std::string& name) { return !lookup(name).empty(); });
}

// What one line of the table says of the process.
struct Candidate {
  const Launcher* launcher = nullptr;
  Told rank;
  std::optional<std::int32_t> world_size, local_rank, local_size;
  bool one_a_node = false;

  bool of_process() const {
    // A rank of a world of one may have been left by an image, and stand in every process.
    if (launcher->counts_processes && (local_rank || world_size.value_or(0) > 1)) return true;
    return local_size ? *local_size > 1 : local_rank.has_value();
  }
  // Greater counts before smaller; the rank itself has no part in it.
  std::pair<std::int32_t, bool> Weight() const { return {world_size.value_or(0), local_rank || local_size}; }
  std::string Text() const { return absl::StrCat(rank.name, "=", *rank.value, " (", launcher->name, ")"); }
};

std::vector<Candidate> CandidatesOf(const std::vector<Launcher>& launchers, VariableLookup lookup) {
  std::vector<Candidate> out;
  for (const Launcher& launcher : launchers) {
    if (!Holds(launcher, lookup)) continue;
    Candidate one = {.launcher = &launcher,
                     .rank = NumberOf(launcher, LauncherField::kRank, lookup),
                     .world_size = NumberOf(launcher, LauncherField::kWorldSize, lookup).value,
                     .local_rank = NumberOf(launcher, LauncherField::kLocalRank, lookup).value,
                     .local_size = NumberOf(launcher, LauncherField::kLocalSize, lookup).value};
    one.one_a_node = !launcher.counts_processes && one.local_size == 1;
    if (one.rank.value && (one.world_size || !launcher.needs_size)) out.push_back(one);
  }
  return out;
}

// The first line that tells it, for what the one that gives the rank leaves open.
std::optional<std::int32_t> FirstOf(const std::vector<Launcher>& launchers, LauncherField field,
                                    VariableLookup lookup) {
  for (const Launcher& launcher : launchers) {
    if (!Holds(launcher, lookup)) continue;
    if (field == LauncherField::kLocalSize && !IsEven(launcher, lookup)) continue;
    if (const Told told = NumberOf(launcher, field, lookup); told.value) return told.value;
  }
  return std::nullopt;
}

void TellDisagreement(const std::vector<Candidate>& candidates, const Candidate& counted, LaunchPlace& place) {
  std::set<std::int32_t> nodes;  // ranks that are nodes': another variable with such a number says the same
  for (const Candidate& one : candidates) {
    if (one.one_a_node) nodes.insert(*one.rank.value);
  }
  std::vector<std::string> others;
  std::set<absl::string_view> names = {counted.rank.name};
  for (const Candidate& one : candidates) {
    if (one.rank.value == counted.rank.value || nodes.contains(*one.rank.value)) continue;
    if (names.insert(one.rank.name).second) others.push_back(one.Text());
  }
  if (others.empty()) return;
  place.counted = counted.Text();
  place.disagreeing = absl::StrJoin(others, ", ");
}

// The rank by the node's and the place within it, all of one line: those of another launcher count other processes.
void Reckon(const std::vector<Launcher>& launchers, VariableLookup lookup, LaunchPlace& place) {
  for (const Launcher& launcher : launchers) {
    if (!Holds(launcher, lookup) || !IsEven(launcher, lookup)) continue;
    const auto node = NumberOf(launcher, LauncherField::kNodeRank, lookup).value;
    const auto local = NumberOf(launcher, LauncherField::kLocalRank, lookup).value;
    const auto size = NumberOf(launcher, LauncherField::kLocalSize, lookup).value;
    if (!node || !local || !size || *local >= *size) continue;
    const std::int64_t rank = std::int64_t{*node} * *size + *local;
    if (rank > kRanksMax) continue;
    place.rank = static_cast<std::int32_t>(rank);
    place.of_process = true;
    place.launcher = launcher.name;
    return;
  }
}

}  // namespace

LaunchPlace LauncherTable::PlaceOf(VariableLookup lookup) const {
  LaunchPlace place;
  const std::vector<Candidate> candidates = CandidatesOf(launchers_, lookup);
  // The first of the greatest: the table's order decides between equals.
  const auto counted = std::max_element(candidates.begin(), candidates.end(),
                                        [](const Candidate& a, const Candidate& b) { return a.Weight() < b.Weight(); });
  if (counted != candidates.end()) {
    place.rank = counted->rank.value;
    place.world_size = counted->world_size;
    place.local_rank = counted->local_rank;
    if (IsEven(*counted->launcher, lookup)) place.local_size = counted->local_size;
    // A line that says the same may say more: RANK and WORLD_SIZE that a script set from RANK_ID and RANK_SIZE.
    place.of_process = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
      return one.rank.value == counted->rank.value && one.world_size == counted->world_size && one.of_process();
    });
    place.launcher = counted->launcher->name;
    TellDisagreement(candidates, *counted, place);
  }
  if (!place.local_rank) place.local_rank = FirstOf(launchers_, LauncherField::kLocalRank, lookup);
  if (!place.local_size) place.local_size = FirstOf(launchers_, LauncherField::kLocalSize, lookup);
  place.restarts = FirstOf(launchers_, LauncherField::kRestarts, lookup).value_or(0);
  place.node_rank = FirstOf(launchers_, LauncherField::kNodeRank, lookup);
  if (!place.node_rank) place.node_rank = FirstOf(launchers_, LauncherField::kNodeIndex, lookup);
  if (place.rank) return place;
  // Children of mp.spawn often have the world size alone.
  place.world_size = FirstOf(launchers_, LauncherField::kWorldSize, lookup);
  Reckon(launchers_, lookup, place);
  return place;
}

LaunchPlace LauncherTable::PlaceOf(const std::vector<std::string>& environment) const {
  std::map<absl::string_view, absl::string_view> values;
  for (const std::string& one : environment) {
    const std::size_t equal = one.find('=');
    if (equal == std::string::npos) continue;
    const absl::string_view name = absl::string_view(one).substr(0, equal);
    if (Tells(name)) values.try_emplace(name, absl::string_view(one).substr(equal + 1));
  }
  return PlaceOf([&](absl::string_view name) {
    const auto value = values.find(name);
    return value == values.end() ? absl::string_view() : value->second;
  });
}

std::string LauncherTable::JobOf(VariableLookup lookup) const {
  for (const JobVariables& job : jobs_) {
    if (!job.job.empty() && !lookup(job.job).empty()) return absl::StrCat("job ", lookup(job.job));
    if (job.host.empty() || lookup(job.host).empty()) continue;
    return absl::StrCat(lookup(job.host), ":", job.port.empty() ? "" : lookup(job.port));
  }
  return "";
}

bool LauncherTable::IsField(LauncherField field, absl::string_view variable) const {
  return std::any_of(launchers_.begin(), launchers_.end(), [&](const Launcher& launcher) {
    const std::vector<std::string>& names = NamesOf(launcher, field);
    return std::find(names.begin(), names.end(), variable) != names.end();
  });
}

bool LauncherTable::IsProcessCount(absl::string_view variable) const {
  return std::any_of(launchers_.begin(), launchers_.end(), [&](const Launcher& launcher) {
    const std::vector<std::string>& names = NamesOf(launcher, LauncherField::kWorldSize);
    return launcher.counts_processes && std::find(names.begin(), names.end(), variable) != names.end();
  });
}

bool LauncherTable::MayCountNodes(absl::string_view variable) const {
  return std::any_of(launchers_.begin(), launchers_.end(), [&](const Launcher& launcher) {
    if (launcher.counts_processes) return false;
    const std::vector<std::string>& names = NamesOf(launcher, LauncherField::kWorldSize);
    return std::find(names.begin(), names.end(), variable) != names.end();
  });
}

bool LauncherTable::IsJobNumber(absl::string_view variable) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const JobVariables& job) { return !job.job.empty() && job.job == variable; });
}

absl::StatusOr<LauncherTable> ReadLaunchers(const DocumentNode& root) {
  LauncherTable table;
  for (const auto& [key, value] : root.fields) {
    if (!value.is_list()) return ErrorAt(value, "a list is needed");
    for (const DocumentNode& node : value.items) {
      if (key.text == "launchers") {
        PARITECT_ASSIGN_OR_RETURN(Launcher launcher, ReadLauncher(node));
        table.place_.insert(launcher.when.begin(), launcher.when.end());
        for (const auto& [field, names] : launcher.variables) table.place_.insert(names.begin(), names.end());
        table.launchers_.push_back(std::move(launcher));
      } else if (key.text == "jobs") {
        PARITECT_ASSIGN_OR_RETURN(JobVariables job, ReadJob(node));
        for (const std::string& name : {job.host, job.port, job.job}) {
          if (!name.empty()) table.all_.insert(name);
        }
        table.jobs_.push_back(std::move(job));
      } else {
        return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
      }
    }
  }
  table.all_.insert(table.place_.begin(), table.place_.end());
  return table;
}

const LauncherTable& BuiltInLaunchers() {
  return BuiltInTable<&ReadLaunchers>("launchers.yaml");
}

}  // namespace paritect
