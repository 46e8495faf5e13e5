#include "formats/observer/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/blake2b.h"
#include "common/digest.h"
#include "common/numbers.h"
#include "formats/observer/value_text.h"

namespace paritect {
namespace {

constexpr std::size_t kNumbersMax = 4096;  // ids of one kind that are followed
constexpr std::size_t kListsMax = 20'000;
constexpr std::size_t kCastsMax = 4096;
constexpr std::int64_t kSkipsToldMax = 19'000;  // from 20,000 on the observer thins them out
constexpr std::int64_t kSeedCallsMax = 50;      // that the observer tells

struct Count {
  const char* kind;
  const char* field;
  std::int64_t least;
};
// Numbers that count something.
constexpr Count kCounts[] = {{"step", "n", 1},
                             {"step", "forwards", 0},
                             {"step", "backwards", 0},
                             {"step", "losses", 0},
                             {"scale", "n", 1},
                             {"scale", "at", 0},
                             {"kept", "looked", 0},
                             {"kept", "kept", 0},
                             {"pass", "pass", 0},
                             {"indices", "pass", 0},
                             {"indices", "requested", 0},
                             {"indices", "batches", 0},
                             {"indices", "samples", 0},
                             {"phase", "forwards", 0},
                             {"phase", "rows", 0},
                             {"phase", "at", 0},
                             {"end", "steps", 0},
                             {"end", "skipped", 0},
                             {"worker", "worker", 0},
                             {"loader", "len", 0},
                             {"root", "elements", 0},
                             {"root", "trainable", 0},
                             {"load_state_dict", "fitting", 0}};

std::string Named(absl::string_view name, std::int64_t value) {
  return absl::StrCat(name, "=", value);
}

// As the observer makes it: int64, little-endian.
std::string DigestOf(const std::vector<std::int64_t>& indices, std::size_t count) {
  std::string bytes;
  bytes.reserve(count * 8);
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint64_t>(indices[i]);
    for (int k = 0; k < 64; k += 8) bytes.push_back(static_cast<char>(word >> k));
  }
  return ToHex(Blake2b128(bytes));
}

// nullopt: not whole numbers.
std::optional<std::vector<std::int64_t>> IndicesIn(const std::vector<DocumentNode>& list) {
  std::vector<std::int64_t> indices;
  for (const DocumentNode& one : list) {
    const auto index = IntegerIn(one);
    if (!index) return std::nullopt;
    indices.push_back(*index);
  }
  return indices;
}

std::optional<std::int64_t> IntegerOf(const DocumentNode& node, absl::string_view field) {
  const DocumentNode* found = node.Find(field);
  return found == nullptr ? std::nullopt : IntegerIn(*found);
}

// nullopt: beyond what can be counted.
std::optional<std::int64_t> ElementsOf(const DocumentNode& tensor) {
  const DocumentNode* shape = tensor.Find("shape");
  if (shape == nullptr || !shape->is_list()) return std::nullopt;
  std::int64_t elements = 1;
  for (const DocumentNode& extent : shape->items) {
    const std::int64_t size = IntegerIn(extent).value_or(-1);
    if (size < 0 || (size > 0 && elements > (std::int64_t{1} << 62) / size)) return std::nullopt;
    elements *= size;
  }
  return elements;
}

}  // namespace

void Agreement::Contradict(const char* kind, std::string told, std::string other, std::int64_t line) {
  found_.try_emplace(kind, Contradiction{kind, std::move(told), std::move(other), line});
}

void Agreement::ContradictIfMore(const char* kind, absl::string_view name, std::int64_t count, absl::string_view of,
                                 std::int64_t most, std::int64_t line) {
  if (count > most) Contradict(kind, Named(name, count), Named(of, most), line);
}

void Agreement::Take(const ObservedRecord& record) {
  const std::string kind = record.kind();
  if (ended_)
    Contradict("after_end", absl::StrCat("end:", end_line_), absl::StrCat(kind, ":", record.line()), record.line());
  TakeCounts(record, kind);
  TakeOrder(record, kind);
  if (record.Find("total") != nullptr) TakeList(record, kind);
  if (kind == "step") return TakeStep(record);
  if (kind == "scale") return TakeScale(record);
  if (kind == "scaler" && record.Boolean("enabled") == false && disabled_.size() < kNumbersMax) {
    disabled_.insert(record.Integer("id").value_or(-1));
  }
  if (kind == "end") return TakeEnd(record);
  if (kind == "indices") return TakeIndices(record);
  if (kind == "seed" || kind == "seeds") return TakeSeed(record, kind);
  if (kind == "root" || kind == "parameters" || kind == "cast") return TakeRoot(record, kind);
  if (kind == "load_state_dict") return TakeLoad(record);
  if (kind == "loader" && batch_sizes_.size() < kNumbersMax) {
    // Without a size of its own a batch sampler decides, whose batches may be of any size.
    batch_sizes_[record.Integer("id").value_or(-1)] = record.Integer("batch_size").value_or(0);
  }
}

void Agreement::TakeCounts(const ObservedRecord& record, const std::string& kind) {
  for (const Count& one : kCounts) {
    if (kind != one.kind) continue;
    const auto count = record.Integer(one.field);
    if (count && *count < one.least) {
      Contradict("negative_count", absl::StrCat(kind, ".", one.field, "=", *count), absl::StrCat(">=", one.least),
                 record.line());
    }
  }
  if (kind == "kept") {
    ContradictIfMore("gradients_kept", "kept", record.Integer("kept").value_or(0), "looked",
                     record.Integer("looked").value_or(0), record.line());
  }
  if (kind == "worker" && record.Integer("workers")) {
    ContradictIfMore("worker_outside", "worker", record.Integer("worker").value_or(0) + 1, "workers",
                     *record.Integer("workers"), record.line());
  }
}

// Passes of a loader are counted upwards.
void Agreement::TakeOrder(const ObservedRecord& record, const std::string& kind) {
  if (kind != "pass" && kind != "indices") return;
  const auto pass = record.Integer("pass");
  const std::pair<std::int64_t, std::int64_t> key = {record.Integer("loader").value_or(-1), kind == "pass" ? 1 : 0};
  if (!pass || (passes_.size() >= kNumbersMax && !passes_.contains(key))) return;
  const auto [found, first] = passes_.try_emplace(key, *pass);
  // `pass` stands once, `indices` grow within one.
  if (!first && (*pass < found->second || (kind == "pass" && *pass == found->second))) {
    Contradict("passes_backwards", Named("pass", found->second), Named("pass", *pass), record.line());
  }
  found->second = std::max(found->second, *pass);
}

void Agreement::TakeStep(const ObservedRecord& record) {
  const auto optimizer = record.Integer("optimizer"), n = record.Integer("n");
  if (!optimizer || !n || (steps_.size() >= kNumbersMax && !steps_.contains(*optimizer))) return;
  std::int64_t& highest = steps_[*optimizer];
  if (*n <= highest) Contradict("steps_backwards", Named("n", highest), Named("n", *n), record.line());
  highest = std::max(highest, *n);
}

void Agreement::TakeScale(const ObservedRecord& record) {
  const std::int64_t scaler = record.Integer("scaler").value_or(-1);
  const std::pair<std::int64_t, std::int64_t> key = {scaler, record.Integer("optimizer").value_or(-1)};
  const auto n = record.Integer("n");
  const bool skipped = record.Boolean("applied") == false;
  skips_ += skipped ? 1 : 0;
  if (skipped && disabled_.contains(scaler)) {
    Contradict("disabled_scaler_skips", "enabled=false", "applied=false", record.line());
  }
  if (!n || (updates_.size() >= kNumbersMax && !updates_.contains(key))) return;
  std::int64_t& highest = updates_[key];
  if (*n <= highest) Contradict("steps_backwards", Named("n", highest), Named("n", *n), record.line());
  highest = std::max(highest, *n);
}

void Agreement::TakeEnd(const ObservedRecord& record) {
  ended_ = true;
  end_line_ = record.line();
  steps_told_ = record.Integer("steps");
  skips_told_ = record.Integer("skipped");
}

void Agreement::TakeIndices(const ObservedRecord& record) {
  const auto requested = record.Integer("requested");
  if (!requested) return;  // no indices: samples are what the data set gives
  const std::int64_t samples = record.Integer("samples").value_or(0);
  ContradictIfMore("samples_exceed_requested", "samples", samples, "requested", *requested, record.line());
  if (record.Text("kind") != "text") CompareDigests(record, *requested);
}

void Agreement::CompareDigests(const ObservedRecord& record, std::int64_t requested) {
  const auto first = IndicesIn(record.List("first")), last = IndicesIn(record.List("last"));
  if (!first || !last) return;
  const auto kept = static_cast<std::int64_t>(first->size());
  ContradictIfMore("indices_exceed_requested", "first", kept, "requested", requested, record.line());
  ContradictIfMore("indices_exceed_requested", "last", static_cast<std::int64_t>(last->size()), "requested", requested,
                   record.line());
  const auto compare = [&](std::int64_t count, const std::string& digest) {
    if (digest.size() != 32 || count <= 0 || count > kept) return;
    const std::string made = DigestOf(*first, static_cast<std::size_t>(count));
    if (made != digest) Contradict("indices_against_digest", digest, made, record.line());
  };
  if (requested == kept) {
    compare(kept, record.Text("digest"));
    const auto tail = static_cast<std::ptrdiff_t>(std::min(first->size(), last->size()));
    if (!std::equal(last->end() - tail, last->end(), first->end() - tail)) {
      Contradict("indices_against_last", absl::StrJoin(*last, ","), absl::StrCat("[", kept, "]"), record.line());
    }
  }
  const DocumentNode* digests = record.Find("at_batches");
  const auto size = batch_sizes_.find(record.Integer("loader").value_or(-1));
  if (digests == nullptr || size == batch_sizes_.end() || size->second <= 0) return;
  for (const auto& [batches, digest] : digests->fields) {
    const auto count = ParseInt(batches.text);
    if (count && *count > 0 && *count <= kept / size->second) compare(*count * size->second, digest.text);
  }
}

void Agreement::TakeList(const ObservedRecord& record, const std::string& kind) {
  const std::vector<DocumentNode>& elements = record.List(kind == "group" ? "params" : "of");
  const auto from = record.Integer("from"), total = record.Integer("total");
  for (const DocumentNode& one : elements) {
    const auto finite = IntegerOf(one, "finite");
    const auto shape = ElementsOf(one);
    if (!one.is_map() || !finite || one.Find("sampled") != nullptr) continue;
    std::int64_t counted = *finite;
    for (const char* field : {"nan", "positive_infinity", "negative_infinity"}) {
      counted += std::clamp<std::int64_t>(IntegerOf(one, field).value_or(0), 0, std::int64_t{1} << 60);
    }
    // Fewer are those of a part: a tensor that is dealt out over ranks tells its whole shape.
    if (shape && counted > *shape)
      Contradict("elements_against_shape", Named("elements", counted), Named("shape", *shape), record.line());
    const DocumentNode *least = one.Find("min"), *most = one.Find("max");
    const auto min = least == nullptr ? std::nullopt : NumberIn(*least);
    const auto max = most == nullptr ? std::nullopt : NumberIn(*most);
    if (*finite > 0 && min && max && *min > *max) {
      Contradict("range_turned_round", absl::StrCat("min=", FormatDouble(*min)),
                 absl::StrCat("max=", FormatDouble(*max)), record.line());
    }
  }
  if (!from || !total) return;
  std::string key = kind;
  for (const char* field : {"root", "optimizer", "group", "at", "n", "role", "stage"}) {
    absl::StrAppend(&key, "/", record.Text(field));
  }
  if (lists_.size() >= kListsMax && !lists_.contains(key)) return;
  std::int64_t& came = lists_[key];
  // A part that is missing is a gap, told elsewhere; one that comes again would fill its place.
  if (*from < came) Contradict("list_overlaps", Named("from", *from), Named("came", came), record.line());
  came = std::max(came, *from + static_cast<std::int64_t>(elements.size()));
  ContradictIfMore("list_overlaps", "came", came, "total", *total, record.line());
}

// Of the generator that decides: torch's own. Calls of the framework itself are not told.
void Agreement::TakeSeed(const ObservedRecord& record, const std::string& kind) {
  if (kind == "seed") {
    ++seed_calls_;
    if (record.Text("call") != "torch.manual_seed") return;
    // Of a place that seeds with many values only the first is told.
    if (record.Boolean("varies").value_or(false)) seed_calls_ = kSeedCallsMax;
    if (seeds_.size() < kNumbersMax) seeds_.insert(record.Text("value"));
    return;
  }
  const std::string seed = record.Text("torch");
  if (seed.empty() || seeds_.empty() || seed_calls_ >= kSeedCallsMax || seeds_.contains(seed)) return;
  // A negative one is turned into another number; what is no number was made by an expression.
  if (std::any_of(seeds_.begin(), seeds_.end(), [](const std::string& one) { return ParseInt(one).value_or(-1) < 0; }))
    return;
  Contradict("seed_against_call", absl::StrCat("initial_seed=", seed),
             absl::StrCat("manual_seed=", absl::StrJoin(seeds_, ",")), record.line());
}

void Agreement::TakeRoot(const ObservedRecord& record, const std::string& kind) {
  if (kind == "cast") {
    // Later ones are of copies that are saved.
    if (record.Integer("at").value_or(0) > 0 || casts_.size() >= kCastsMax) return;
    casts_.push_back({record.line(), record.Integer("elements").value_or(0), record.Text("dtype"),
                      ShortClass(record.Text("class"))});
    return;
  }
  const std::int64_t id = record.Integer(kind == "root" ? "id" : "root").value_or(-1);
  if (roots_.size() >= kNumbersMax && !roots_.contains(id)) return;
  Root& root = roots_[id];
  if (kind == "root") {
    root.class_name = ShortClass(record.Text("class"));
    root.inner_class = ShortClass(record.Text("module"));
    root.elements = record.Integer("elements").value_or(0);
    return;
  }
  if (root.parameters_line == 0) root.parameters_line = record.line();
  for (const DocumentNode& one : record.List("of")) {
    if (one.items.size() > 3 && one.items[3].text != "false") root.types.insert(one.items[2].text);
  }
  const auto total = record.Integer("total");
  const auto came = record.Integer("from").value_or(0) + static_cast<std::int64_t>(record.List("of").size());
  root.parameters_whole = total && came >= *total;
}

void Agreement::TakeLoad(const ObservedRecord& record) {
  const auto fitting = record.Integer("fitting");
  for (const char* whole : {"given", "expected"}) {
    const auto most = record.Integer(whole);
    if (fitting && most) ContradictIfMore("load_exceeds_keys", "fitting", *fitting, whole, *most, record.line());
  }
  for (const auto& [part, whole] : {std::pair("missing_total", "expected"), std::pair("unexpected_total", "given")}) {
    const auto count = record.Integer(part), most = record.Integer(whole);
    if (count && most) ContradictIfMore("load_exceeds_keys", part, *count, whole, *most, record.line());
  }
}

// The last cast of a whole model before its parameters were told. Of two models alike nothing tells which was cast.
void Agreement::CompareCasts(std::vector<Contradiction>& found) const {
  for (const auto& [id, root] : roots_) {
    if (!root.parameters_whole || root.types.empty() || root.elements <= 0) continue;
    const auto alike = std::count_if(roots_.begin(), roots_.end(), [&, &root = root](const auto& other) {
      return other.second.elements == root.elements;
    });
    const Cast* last = nullptr;
    for (const Cast& cast : casts_) {
      const bool named = cast.class_name == root.class_name || cast.class_name == root.inner_class;
      if (named && cast.elements == root.elements && cast.line < root.parameters_line) last = &cast;
    }
    if (last == nullptr || alike != 1 || root.types.contains(last->dtype)) continue;
    found.push_back({"cast_against_parameters", absl::StrCat("cast=", last->dtype),
                     absl::StrCat("parameters=", absl::StrJoin(root.types, ",")), last->line});
    return;
  }
}

std::vector<Contradiction> Agreement::Finish(bool whole) const {
  std::vector<Contradiction> found;
  for (const auto& [kind, one] : found_) found.push_back(one);
  std::int64_t steps = 0;
  for (const auto& [optimizer, highest] : steps_) steps += highest;
  if (steps_told_ && *steps_told_ < steps) {
    found.push_back({"steps_against_end", Named("end.steps", *steps_told_), Named("step.n", steps), end_line_});
  }
  if (skips_told_) {
    // Not all need to be recorded; what was recorded happened.
    const bool all = whole && *skips_told_ < kSkipsToldMax;
    if (*skips_told_ < skips_ || (all && *skips_told_ > skips_)) {
      found.push_back({"skips_against_end", Named("end.skipped", *skips_told_), Named("scale", skips_), end_line_});
    }
  }
  CompareCasts(found);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return found;
}

}  // namespace paritect
