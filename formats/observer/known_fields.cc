// Which kinds and fields of the observer's record this version knows (docs/observer.md). What it does not know is
// passed over and counted, so that a newer observer's record is no silent loss.
#include <map>
#include <set>

#include "formats/observer/record.h"

namespace paritect {
namespace {

using Fields = std::set<absl::string_view>;

using Kinds = std::map<absl::string_view, Fields>;

const Kinds& ProcessAndSettings() {
  static const Kinds kKnown = {
      // The process.
      {"begin",
       {"format", "level", "host", "pid", "ppid", "start", "image", "parent", "python", "executable", "main", "how",
        "late", "env"}},
      {"framework", {"name", "version", "file", "tried", "patched", "missing", "details"}},
      {"process_group", {"backend", "rank", "world", "init_method", "where"}},
      {"rank", {"rank", "world"}},
      {"end", {"steps", "why", "spent_ms", "calls", "errors", "lost", "counters", "skipped"}},
      {"error", {"site", "type", "line", "text"}},
      {"off", {"site"}},
      {"lost", {"count"}},
      {"full", {"bytes"}},
      {"throttled", {"share"}},
      {"bounded", {"what", "most"}},
      // Settings.
      {"flags", {"flags"}},
      {"seeds",
       {"torch", "torch_state", "random_state", "numpy_state", "cuda_seed", "npu_seed", "pythonhashseed", "start",
        "seeded"}},
      {"seed", {"call", "value", "where", "calls", "varies", "last"}},
      {"drawn", {"at", "generators"}},
      {"autocast", {"device", "dtype", "enabled", "cache", "where", "root"}},
      {"cast", {"call", "dtype", "class", "elements", "trainable", "norms", "root", "at", "where"}},
      {"compile", {"call", "class", "backend", "mode", "fullgraph", "where"}},
      {"scaler",
       {"id", "class", "enabled", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "dynamic",
        "where"}},
      {"optimizer", {"id", "class", "defaults", "where", "wraps"}},
      {"group", {"optimizer", "group", "at", "options", "from", "total", "params"}},
      {"scheduler", {"id", "class", "optimizer", "base_lrs", "attributes", "where"}},
      {"wrap", {"class", "module", "arguments", "where"}},
      {"settings", {"source", "values"}},
  };
  return kKnown;
}

const Kinds& DataAndSteps() {
  static const Kinds kKnown = {
      // Data.
      {"loader",
       {"id", "class", "dataset", "len", "batch_size", "drop_last", "shuffle", "workers", "prefetch_factor",
        "persistent_workers", "pin_memory", "timeout", "sampler", "batch_sampler", "collate_fn", "worker_init_fn",
        "generator_seed", "multiprocessing_context", "where"}},
      {"pass", {"loader", "pass", "sampler_epoch", "sampler_seed", "generator_seed", "base_seed", "phase", "at"}},
      {"indices",
       {"loader", "pass", "requested", "requested_batches", "batches", "samples", "whole", "digest", "at_batches",
        "first", "last", "kind"}},
      {"worker", {"worker", "workers", "seed", "torch_state", "random_state", "numpy_state"}},
      {"batch", {"loader", "pass", "n", "tensors"}},
      {"fed", {"root", "n", "training", "at", "tensors"}},
      // Model.
      {"root", {"id", "class", "module", "name", "trainable", "elements", "at"}},
      {"modules", {"root", "from", "total", "of"}},
      {"parameters", {"root", "from", "total", "of"}},
      {"buffers", {"root", "from", "total", "of"}},
      {"weights", {"root", "at", "role", "stage", "from", "total", "of", "sampled", "optimizer"}},
      {"replica", {"root", "at", "role", "tensors", "digest"}},
      {"load_state_dict",
       {"what", "class", "strict", "given", "expected", "fitting", "missing", "missing_total", "unexpected",
        "unexpected_total", "at", "failed", "where"}},
      {"load", {"call", "file", "weights_only", "keys", "at", "where"}},
      {"save", {"call", "file", "weights_only", "keys", "at", "where"}},
      // Steps.
      {"step",
       {"optimizer", "n", "lr", "weight_decay", "forwards", "backwards", "zeroed", "clip", "loss", "loss_first",
        "losses", "loss_sum", "collectives", "sync_off", "schedulers", "scale", "grad_norm"}},
      {"scale", {"scaler", "n", "before", "after", "applied", "optimizer", "at"}},
      {"grads", {"optimizer", "n", "stage", "scale", "clip_factor", "from", "total", "of", "sampled"}},
      {"update", {"optimizer", "n", "from", "total", "of", "sampled"}},
      {"operators", {"root", "at", "from", "total", "of"}},
      {"backward", {"root", "at", "from", "total", "of"}},
      {"kept", {"optimizer", "n", "looked", "kept"}},
      {"phase",
       {"root", "phase", "training", "grad", "inference", "forwards", "rows", "at", "other", "other_total", "open"}},
  };
  return kKnown;
}

// nullptr: a kind of a later version.
const Fields* FieldsOf(absl::string_view kind) {
  for (const Kinds* kinds : {&ProcessAndSettings(), &DataAndSteps()}) {
    if (const auto found = kinds->find(kind); found != kinds->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace

bool IsObservedKind(absl::string_view kind) {
  return FieldsOf(kind) != nullptr;
}

bool IsObservedField(absl::string_view kind, absl::string_view field) {
  if (field == "k" || field == "t") return true;
  const Fields* fields = FieldsOf(kind);
  return fields != nullptr && fields->contains(field);
}

}  // namespace paritect
