#include "formats/observer/data_part.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "formats/observer/tensor.h"
#include "formats/observer/value_text.h"

namespace paritect {
namespace {

constexpr std::size_t kLoadersMax = 256;
constexpr std::size_t kPassesMax = 4096;
constexpr std::size_t kIndicesMax = 8192;
constexpr std::size_t kBatchesMax = 64;
constexpr std::size_t kWorkersMax = 4096;
constexpr std::size_t kItemsMax = 2000;
constexpr int kNestingMax = 8;

using Items = std::vector<std::pair<std::string, std::string>>;

void AddItem(Items& items, std::string name, std::string value) {
  if (items.size() < kItemsMax) items.emplace_back(std::move(name), std::move(value));
}

const DocumentNode* ListIn(const DocumentNode& object, absl::string_view field) {
  const DocumentNode* found = object.Find(field);
  return found != nullptr && found->is_list() ? found : nullptr;
}

void AddValue(const DocumentNode& value, const std::string& name, int depth, Items& items);

void AddAttributes(const DocumentNode& object, const std::string& prefix, int depth, Items& items) {
  const DocumentNode* attributes = object.Find("attributes");
  if (attributes == nullptr) return;
  for (const auto& [name, value] : attributes->fields) {
    if (!value.is_null()) AddValue(value, absl::StrCat(prefix, ".", name.text), depth, items);
  }
}

bool IsObject(const DocumentNode& value) {
  return value.is_map() && value.Find("class") != nullptr;
}

// Steps of a chain of transforms, each with its number, for their order counts.
void AddSteps(const std::vector<DocumentNode>& steps, const std::string& prefix, int depth, Items& items) {
  int number = 0;
  for (const DocumentNode& one : steps) AddValue(one, absl::StrCat(prefix, ".", ++number), depth, items);
}

// A value, or an object with what it is made of.
void AddValue(const DocumentNode& value, const std::string& name, int depth, Items& items) {
  if (depth > kNestingMax) return;
  if (value.is_list() && std::any_of(value.items.begin(), value.items.end(), IsObject)) {
    return AddSteps(value.items, name, depth + 1, items);
  }
  if (!IsObject(value)) return AddItem(items, name, ValueText(value));
  AddItem(items, name, ShortClass(ObjectName(value)));
  AddAttributes(value, name, depth + 1, items);
  if (const DocumentNode* steps = ListIn(value, "transforms")) AddSteps(steps->items, name, depth + 1, items);
}

// The data set and those inside it.
void AddDataset(const DocumentNode& object, int depth, ObservedLoader& loader) {
  const std::string name = depth == 0 ? "dataset" : absl::StrCat("dataset ", depth + 1);
  AddItem(loader.items["read-count"], name, ShortClass(ObjectName(object)));
  if (const DocumentNode* size = object.Find("len"); size != nullptr && IntegerIn(*size)) {
    AddItem(loader.items["read-count"], absl::StrCat(name, ".len"), size->text);
    if (depth == 0) loader.settings.emplace_back("samples_read", size->text);
  }
  AddAttributes(object, name, 0, loader.items["transform"]);
  if (const DocumentNode* steps = ListIn(object, "transforms"))
    AddSteps(steps->items, name, 0, loader.items["transform"]);
  const DocumentNode* inner = object.Find("dataset");
  if (inner != nullptr && inner->is_map() && depth < kNestingMax) AddDataset(*inner, depth + 1, loader);
}

// What deals by rank or epoch differs between ranks and passes by nature.
bool IsOfRank(absl::string_view name) {
  for (absl::string_view own : {".rank", ".epoch", ".num_replicas", ".total_size", ".num_samples"}) {
    if (absl::EndsWith(name, own)) return true;
  }
  return false;
}

// What a sampler that deals one data set out to ranks knows: PyTorch, accelerate, Megatron, webdataset.
bool TellsRank(absl::string_view name) {
  for (absl::string_view own : {".rank", ".num_replicas", ".process_index", ".num_processes", ".data_parallel_rank",
                                ".data_parallel_size", ".world_size", ".shard_id", ".num_shards"}) {
    if (absl::EndsWith(name, own)) return true;
  }
  return false;
}

void AddSampler(const DocumentNode& object, const std::string& name, ObservedLoader& loader) {
  const std::string class_name = ShortClass(ObjectName(object));
  AddItem(loader.items["shuffle"], name, class_name);
  Items attributes;
  AddAttributes(object, name, 0, attributes);
  for (auto& [attribute, value] : attributes) {
    loader.dealt = loader.dealt || TellsRank(attribute);
    // A batch sampler's own sampler is told by itself.
    if (IsOfRank(attribute) || absl::EndsWith(attribute, ".batch_size") || absl::StrContains(attribute, ".sampler")) {
      continue;
    }
    loader.shuffles = loader.shuffles || (absl::EndsWith(attribute, ".shuffle") && value == "true");
    const bool drops = absl::EndsWith(attribute, ".drop_last");
    if (drops && value == "true") ++loader.rest;
    AddItem(loader.items[drops ? "padding" : "shuffle"], attribute, value);
  }
  loader.shuffles = loader.shuffles || absl::StrContains(class_name, "Random");
}

void CopyField(const ObservedRecord& record, absl::string_view field, const char* part, ObservedLoader& loader) {
  const DocumentNode* value = record.Find(field);
  AddItem(loader.items[part], std::string(field), value == nullptr ? "none" : ValueText(*value));
}

bool EqualDigest(const ObservedPass& a, const ObservedPass& b) {
  return a.has_indices && b.has_indices && !a.digest.empty() && a.digest == b.digest;
}

bool AnyFed(const ObservedLoader& loader, const std::set<std::string>& fed) {
  for (const auto& [number, pass] : loader.passes) {
    for (const std::string& digest : pass.batch_inputs) {
      if (fed.contains(digest)) return true;
    }
  }
  return false;
}

// The same order in pass after pass though it shuffles: nothing told the sampler which epoch it is.
std::string RepeatedOrder(const ObservedLoader& loader) {
  const ObservedPass* before = nullptr;
  for (const auto& [number, pass] : loader.passes) {
    if (before != nullptr && pass.whole && before->whole && pass.samples > 1 && EqualDigest(*before, pass))
      return "true";
    if (before != nullptr && pass.has_indices && before->has_indices && !pass.digest.empty() &&
        pass.samples == before->samples && pass.digest != before->digest)
      return "false";
    before = &pass;
  }
  return "";
}

void AddPipeline(const ObservedLoader& loader, const std::string& scope, SettingsBuilder& facts) {
  for (const auto& [part, items] : loader.items) {
    for (const auto& [name, value] : items) {
      v1::Setting* one = facts.AddText(absl::StrCat("observed.pipeline.", part, ".", name), value, loader.line);
      if (one != nullptr) one->set_scope(scope);
    }
  }
}

}  // namespace

bool DataPart::Take(const ObservedRecord& record) {
  const std::string kind = record.kind();
  if (kind == "loader") return TakeLoader(record), true;
  if (kind == "pass") return TakePass(record), true;
  if (kind == "indices") return TakeIndices(record), true;
  if (kind == "batch") return TakeBatch(record), true;
  if (kind == "worker") return TakeWorker(record), true;
  return false;
}

void DataPart::TakeLoader(const ObservedRecord& record) {
  const auto id = record.Integer("id");
  if (!id || loaders_.size() >= kLoadersMax) return;
  ObservedLoader& loader = loaders_[*id];
  // One that is made anew for each epoch is told again.
  std::map<std::int64_t, ObservedPass> passes = std::move(loader.passes);
  loader = ObservedLoader();
  loader.passes = std::move(passes);
  loader.line = record.line();
  loader.where = record.Text("where");
  if (const DocumentNode* dataset = record.Find("dataset")) {
    const DocumentNode* kind = dataset->Find("kind");
    loader.iterable = kind != nullptr && kind->text == "iterable";
    AddDataset(*dataset, 0, loader);
  }
  CopyField(record, "shuffle", "shuffle", loader);
  CopyField(record, "generator_seed", "shuffle", loader);
  loader.shuffles = record.Boolean("shuffle").value_or(false);
  if (const DocumentNode* sampler = record.Find("sampler")) AddSampler(*sampler, "sampler", loader);
  if (const DocumentNode* sampler = record.Find("batch_sampler")) AddSampler(*sampler, "batch_sampler", loader);
  CopyField(record, "drop_last", "padding", loader);
  CopyField(record, "collate_fn", "padding", loader);
  for (const char* field : {"workers", "prefetch_factor", "worker_init_fn"}) {
    CopyField(record, field, "parallelism", loader);
  }
  if (record.Boolean("drop_last").value_or(false)) loader.rest += record.Integer("batch_size").value_or(1) - 1;
  loader.has_worker_init = record.Find("worker_init_fn") != nullptr;
  for (const auto& [field, key] : {std::pair("batch_size", "micro_batch_size"), std::pair("drop_last", "drop_last"),
                                   std::pair("shuffle", "shuffle"), std::pair("workers", "dataloader_workers")}) {
    if (const DocumentNode* value = record.Find(field)) loader.settings.emplace_back(key, value->text);
  }
}

ObservedPass* DataPart::PassOf(const ObservedRecord& record) {
  const auto loader = record.Integer("loader");
  const auto found = loader ? loaders_.find(*loader) : loaders_.end();
  if (found == loaders_.end()) return nullptr;
  const std::int64_t number = record.Integer("pass").value_or(0);
  if (found->second.passes.size() >= kPassesMax && !found->second.passes.contains(number)) return nullptr;
  ObservedPass& pass = found->second.passes[number];
  if (pass.line == 0) pass.line = record.line();
  return &pass;
}

void DataPart::TakePass(const ObservedRecord& record) {
  ObservedPass* pass = PassOf(record);
  if (pass == nullptr) return;
  pass->sampler_epoch = record.Integer("sampler_epoch");
  pass->sampler_seed = record.Integer("sampler_seed");
  pass->base_seed = record.Integer("base_seed");
  pass->after_training = record.Boolean("phase");
}

// Cumulative: the last one of a pass counts.
void DataPart::TakeIndices(const ObservedRecord& record) {
  ObservedPass* pass = PassOf(record);
  if (pass == nullptr || record.Find("requested") == nullptr) return;
  pass->line = record.line();
  pass->has_indices = true;
  pass->numbers = record.Text("kind") != "text";
  pass->samples = record.Integer("samples").value_or(0);
  pass->batches = record.Integer("batches").value_or(0);
  pass->whole = record.Boolean("whole").value_or(false);
  pass->digest = record.Text("digest");
  if (const DocumentNode* digests = record.Find("at_batches")) {
    for (const auto& [count, digest] : digests->fields) {
      const auto batches = ParseInt(count.text);
      if (batches && pass->after.size() < kBatchesMax) pass->after[*batches] = digest.text;
    }
  }
  const std::vector<DocumentNode>& first = record.List("first");
  if (first.empty()) return;
  pass->first.clear();
  for (const DocumentNode& index : first) {
    if (pass->first.size() == kIndicesMax) break;
    pass->first.push_back(index.text);
  }
}

void DataPart::TakeBatch(const ObservedRecord& record) {
  ObservedPass* pass = PassOf(record);
  if (pass != nullptr && pass->batch_digests.size() < kBatchesMax) {
    pass->batch_digests.push_back(DigestOfTensors(record));
    const std::vector<std::string> digests = DigestsBySize(record);
    if (!digests.empty()) pass->batch_inputs.push_back(digests[0]);
  }
}

void DataPart::TakeWorker(const ObservedRecord& record) {
  if (workers_.size() >= kWorkersMax) return;
  ObservedWorker worker;
  worker.worker = record.Integer("worker").value_or(0);
  worker.workers = record.Integer("workers").value_or(0);
  worker.seed = record.Integer("seed").value_or(0);
  worker.line = record.line();
  for (const char* state : {"torch_state", "random_state", "numpy_state"}) {
    if (const std::string digest = record.Text(state); !digest.empty()) worker.states[state] = digest;
  }
  workers_.push_back(std::move(worker));
}

void DataPart::TellUses(const std::set<std::string>& fed, const std::set<std::string>& fed_in_evaluation) {
  bool training = false;
  for (auto& [id, loader] : loaders_) {
    if (loader.passes.empty()) continue;
    if (AnyFed(loader, fed)) {
      loader.use = LoaderUse::kTraining;
      training = true;
    } else if (AnyFed(loader, fed_in_evaluation)) {
      loader.use = LoaderUse::kEvaluation;
    }
  }
  // Without equal digests (batches are changed on the device, or were not recorded): what shuffles is trained with;
  // else what was read before any forward of the model.
  for (const bool by_shuffle : {true, false}) {
    for (auto& [id, loader] : loaders_) {
      const bool candidate = !loader.passes.empty() && loader.use == LoaderUse::kNone;
      const bool first = candidate && !loader.passes.begin()->second.after_training.has_value();
      if (training || !candidate || !(by_shuffle ? loader.shuffles : first)) continue;
      loader.use = LoaderUse::kTraining;
      training = true;
    }
  }
  for (auto& [id, loader] : loaders_) {
    if (!loader.passes.empty() && loader.use == LoaderUse::kNone) loader.use = LoaderUse::kEvaluation;
  }
}

void DataPart::AddFacts(SettingsBuilder& facts) const {
  int training = 0, evaluation = 0;
  for (const auto& [id, loader] : loaders_) {
    if (loader.use == LoaderUse::kNone) continue;
    const bool trains = loader.use == LoaderUse::kTraining;
    const int number = trains ? training++ : evaluation++;
    const std::string scope =
        absl::StrCat(trains ? "training" : "evaluation", number == 0 ? "" : absl::StrCat(" ", number + 1));
    const auto add = [&](absl::string_view key, absl::string_view value, std::int64_t line) {
      v1::Setting* one = facts.AddText(key, value, line);
      if (one != nullptr) one->set_scope(scope);
    };
    add("observed.loader", loader.where, loader.line);
    AddPipeline(loader, scope, facts);
    if (trains && number == 0) {
      for (const auto& [key, value] : loader.settings) facts.Add(key, value, loader.line);
    }
    if (loader.shuffles && !RepeatedOrder(loader).empty()) {
      add("observed.order_repeats", RepeatedOrder(loader), loader.passes.rbegin()->second.line);
    }
    // Of samplers that nobody knows: whether it means anything, the other side tells.
    if (const std::string repeats = RepeatedOrder(loader); !loader.shuffles && !repeats.empty()) {
      add("observed.order_changes", repeats == "true" ? "false" : "true", loader.passes.rbegin()->second.line);
    }
    const ObservedPass& first = loader.passes.begin()->second;
    if (first.sampler_seed) add("observed.sampler_seed", absl::StrCat(*first.sampler_seed), first.line);
    if (first.has_indices) add("observed.samples", absl::StrCat(first.samples), first.line);
    // Named as digests are: a value that looks drawn by lot would be withheld under another name
    // (rules/data/secrets.yaml).
    for (const auto& [batches, digest] : first.after) {
      // With workers more is asked of the sampler than is handed out.
      if (batches <= first.batches) add(absl::StrCat("observed.indices.", batches, ".digest"), digest, first.line);
    }
    if (loader.iterable) add("observed.iterable", "true", loader.line);
    if (first.has_indices && first.whole) add("observed.samples_whole", "true", first.line);
    for (std::size_t i = 0; i < first.batch_digests.size(); ++i) {
      if (!first.batch_digests[i].empty())
        add(absl::StrCat("observed.batch.", i, ".digest"), first.batch_digests[i], first.line);
    }
  }
}

void DataPart::AddWorkerFacts(const std::vector<ObservedWorker>& workers, SettingsBuilder& facts) const {
  for (const auto& [id, loader] : loaders_) {
    if (loader.use != LoaderUse::kTraining) continue;
    std::set<std::string> shared;
    std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> holders;  // state and digest: workers
    std::set<std::int64_t> seen;
    for (const ObservedWorker& worker : workers) {
      const bool first_pass = loader.passes.begin()->second.base_seed == worker.seed - worker.worker;
      if (!first_pass) continue;
      seen.insert(worker.worker);
      for (const auto& [state, digest] : worker.states) {
        auto& holding = holders[{state, digest}];
        holding.insert(worker.worker);
        if (holding.size() > 1) shared.insert(state);
      }
    }
    if (seen.empty()) continue;
    const auto add = [&](absl::string_view key, absl::string_view value) {
      v1::Setting* one = facts.AddText(key, value, loader.line);
      if (one != nullptr) one->set_scope("training");
    };
    add("observed.workers.seen", absl::StrCat(seen.size()));
    if (!shared.empty()) add("observed.workers.shared", absl::StrJoin(shared, ", "));
    for (const ObservedWorker& worker : workers) {
      if (worker.worker != 0 || loader.passes.begin()->second.base_seed != worker.seed) continue;
      for (const auto& [state, digest] : worker.states) {
        add(absl::StrCat("observed.workers.", state, ".digest"), digest);
      }
      break;  // of the first pass
    }
    if (loader.has_worker_init) add("observed.workers.init", "true");
    return;
  }
}

std::vector<v1::ShardList> DataPart::Lists() const {
  std::vector<v1::ShardList> lists;
  bool training = false, evaluation = false;
  for (const auto& [id, loader] : loaders_) {
    const bool trains = loader.use == LoaderUse::kTraining;
    if (loader.use == LoaderUse::kNone || std::exchange(trains ? training : evaluation, true)) continue;
    std::int32_t number = 0;
    for (const auto& [pass_number, pass] : loader.passes) {
      if (!pass.has_indices || !pass.numbers) continue;
      v1::ShardList& list = lists.emplace_back();
      list.set_format(kObservedFormat);
      list.set_dataset(trains ? "samples" : "evaluation samples");
      list.set_sample_numbers(true);
      list.set_epoch(number++);
      if (loader.rest > 0) {
        v1::Note& note = *list.add_notes();
        note.set_kind("drops_rest");
        note.set_message(absl::StrCat(loader.rest));
      }
      if (!trains) list.add_notes()->set_kind("role_validation");
      if (!loader.dealt) {
        v1::Note& note = *list.add_notes();
        note.set_kind("own_numbers");
        note.set_message(pass.batch_digests.empty() ? "" : pass.batch_digests[0]);
      }
      const std::size_t kept =
          std::min(pass.first.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, pass.samples)));
      for (std::size_t i = 0; i < kept; ++i) list.add_items(pass.first[i]);
      if (static_cast<std::int64_t>(kept) < pass.samples) {
        v1::Problem& problem = *list.add_incomplete();
        problem.set_id("observed_indices_cut");
        (*problem.mutable_args())["kept"] = absl::StrCat(kept);
        (*problem.mutable_args())["samples"] = absl::StrCat(pass.samples);
      }
    }
  }
  return lists;
}

}  // namespace paritect
