// inspect --as weights: the tensors of a checkpoint by digest and statistics, and the values that stand beside them.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/inspector.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/fingerprint.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

// Without --as, what states itself by magic or by its folder is claimed; tables of tensors too, for their header names
// tensors.
bool Recognises(absl::string_view, bool is_folder, absl::string_view head) {
  if (is_folder) return false;
  WeightsSample sample;
  sample.head = std::string(head.substr(0, kWeightsHeadBytes));
  sample.size_bytes = head.size();
  return !head.empty() && RecogniseWeights(sample) != nullptr;
}

enum class DigestWord { kXxh3, kSha256 };

absl::StatusOr<DigestWord> ReadDigestWord(absl::string_view word) {
  if (word.empty() || word == "xxh3") return DigestWord::kXxh3;
  if (word == "sha256") return DigestWord::kSha256;
  return absl::InvalidArgumentError(absl::StrCat("--digest ", word, ": xxh3 or sha256 is wanted"));
}

// "xxh3:..." or what a table states in its place; "" where there is none.
std::string DigestText(const v1::TensorFingerprint& tensor, DigestWord word) {
  if (word == DigestWord::kXxh3 && !tensor.xxh3().empty()) return absl::StrCat("xxh3:", tensor.xxh3());
  if (!tensor.sha256().empty()) return absl::StrCat("sha256:", tensor.sha256());
  if (!tensor.xxh3().empty()) return absl::StrCat("xxh3:", tensor.xxh3());
  return tensor.md5().empty() ? "" : absl::StrCat("md5:", tensor.md5());
}

OrderedJson TextOrNull(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

void AddStatistics(const v1::TensorFingerprint& tensor, OrderedJson& json) {
  const v1::TensorStatistics& statistics = tensor.statistics();
  // A table states what it states; of elements that were read, those that are finite tell of min, max and sums.
  const bool some = statistics.finite() > 0 || (tensor.xxh3().empty() && tensor.has_statistics());
  const auto number = [](bool there, double value) { return there ? NumberToJson(value) : OrderedJson(nullptr); };
  const auto count = [](bool there, std::uint64_t value) { return there ? OrderedJson(value) : OrderedJson(nullptr); };
  json["min"] = number(some && statistics.has_min(), statistics.min());
  json["max"] = number(some && statistics.has_max(), statistics.max());
  double elements = static_cast<double>(statistics.finite());
  if (elements == 0) {
    elements = 1;
    for (const std::int64_t extent : tensor.shape()) elements *= static_cast<double>(extent);
  }
  json["mean"] = number(some && statistics.has_sum(), statistics.sum() / elements);
  json["l2"] = number(some && statistics.has_sum_of_squares(), std::sqrt(statistics.sum_of_squares()));
  json["nan"] = count(statistics.has_nan(), statistics.nan());
  json["inf"] =
      count(statistics.has_positive_infinity(), statistics.positive_infinity() + statistics.negative_infinity());
  json["zero"] = count(statistics.has_zero(), statistics.zero());
}

std::string ProblemText(CommandEnv& env, const v1::Problem& problem) {
  MessageArgs args;
  for (const auto& [name, value] : problem.args()) args.emplace_back(name, value);
  return env.rules.messages.Say(problem.id(), args).en();
}

OrderedJson TensorToJson(CommandEnv& env, const v1::TensorFingerprint& tensor, DigestWord word) {
  OrderedJson json;
  json["name"] = tensor.name();
  json["dtype"] = tensor.dtype();
  // Of a tensor that was not read often not even that.
  const bool known = !tensor.has_problem() || tensor.shape_size() > 0;
  json["shape"] = known ? OrderedJson::array() : OrderedJson(nullptr);
  for (const std::int64_t extent : tensor.shape()) json["shape"].push_back(extent);
  json["digest"] = TextOrNull(DigestText(tensor, word));
  AddStatistics(tensor, json);
  if (!tensor.file().empty()) json["file"] = DisplayBytes(tensor.file());
  if (!tensor.alias_of().empty()) json["alias_of"] = tensor.alias_of();
  if (!tensor.device().empty()) json["device"] = tensor.device();
  if (tensor.has_problem()) json["problem"] = ProblemText(env, tensor.problem());
  return json;
}

OrderedJson ValueToJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return value.boolean();
    case v1::Value::kInteger: return value.integer();
    case v1::Value::kNumber: return NumberToJson(value.number());
    case v1::Value::kText: return value.text();
    case v1::Value::kList: {
      OrderedJson list = OrderedJson::array();
      for (const v1::Value& item : value.list().items()) list.push_back(item.has_list() ? nullptr : ValueToJson(item));
      return list;
    }
    default: return nullptr;
  }
}

// Of names, types, shapes and digests, sorted: neither the order of tensors nor the cut into files counts. Empty where
// a tensor has no digest.
std::string DigestOfAll(const v1::Weights& weights, DigestWord word) {
  std::vector<std::string> lines;
  for (const v1::TensorFingerprint& tensor : weights.tensors()) {
    const std::string digest = DigestText(tensor, word);
    if (digest.empty()) return "";
    lines.push_back(absl::StrCat(tensor.name(), absl::string_view("\0", 1), tensor.dtype(), absl::string_view("\0", 1),
                                 absl::StrJoin(tensor.shape(), "x"), absl::string_view("\0", 1), digest, "\n"));
  }
  std::sort(lines.begin(), lines.end());
  FingerprintOptions options;
  options.sha256 = word == DigestWord::kSha256;
  options.values = false;
  const auto fingerprinter = NewTensorFingerprinter(DType::kU8, options);
  for (const std::string& line : lines) fingerprinter->Add(line);
  return DigestText(fingerprinter->Finish(), word);
}

// What no reader claims is unknown, with what was seen; what is damaged or hostile is refused.
absl::StatusOr<OrderedJson> NotRead(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  v1::Note note;
  note.set_kind("not_recognised");
  note.set_message(std::string(status.message()));
  OrderedJson json;
  json["format"] = "unknown";
  json["notes"] = OrderedJson::array({NoteToJson(note)});
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(const DigestWord word, ReadDigestWord(request.digest));
  auto source = OpenWeights(env.fs, request.files[0]);
  if (!source.ok()) return NotRead(source.status());
  FingerprintOptions options;
  options.sha256 = word == DigestWord::kSha256;
  options.values = false;
  PARITECT_ASSIGN_OR_RETURN(const v1::Weights weights, FingerprintWeights(**source, options));
  OrderedJson json;
  json["format"] = weights.format();
  json["notes"] = OrderedJson::array();
  for (const v1::Note& note : weights.notes()) json["notes"].push_back(NoteToJson(note));
  for (const v1::Problem& problem : weights.incomplete()) {
    v1::Note note;
    note.set_kind("incomplete");
    note.set_message(ProblemText(env, problem));
    json["notes"].push_back(NoteToJson(note));
  }
  json["digest"] = TextOrNull(DigestOfAll(weights, word));
  json["count"] = weights.tensors_size();
  if (weights.has_step()) json["step"] = weights.step();
  if (weights.removed_redundancy()) json["removed_redundancy"] = true;
  json["facts"] = OrderedJson::object();
  for (const v1::CheckpointFact& fact : weights.facts()) json["facts"][fact.name()] = ValueToJson(fact.value());
  if (request.summary) return json;
  json["tensors"] = OrderedJson::array();
  for (const v1::TensorFingerprint& tensor : weights.tensors())
    json["tensors"].push_back(TensorToJson(env, tensor, word));
  return json;
}

// Cells of one column; short, because digests are long.
std::string Cell(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_number_float()) return FormatShort(found->get<double>());
  if (!found->is_array()) return found->is_string() ? found->get<std::string>() : found->dump();
  std::vector<std::string> extents;
  for (const OrderedJson& extent : *found) extents.push_back(extent.dump());
  return extents.empty() ? "scalar" : absl::StrJoin(extents, "x");
}

void Print(const OrderedJson& object, std::ostream& out) {
  out << object["file"].get<std::string>() << ": " << object["format"].get<std::string>() << "\n";
  for (const OrderedJson& note : object["notes"]) out << "note: " << Cell(note, "message") << "\n";
  if (object.contains("digest")) out << Cell(object, "count") << " tensors, " << Cell(object, "digest") << "\n";
  if (!object.contains("tensors")) return;
  constexpr const char* kColumns[] = {"name", "dtype", "shape", "min",  "max",   "mean",
                                      "l2",   "nan",   "inf",   "zero", "digest"};
  std::vector<std::vector<std::string>> rows = {std::vector<std::string>(std::begin(kColumns), std::end(kColumns))};
  for (const OrderedJson& tensor : object["tensors"]) {
    std::vector<std::string> row;
    for (const char* column : kColumns) row.push_back(DisplayBytes(Cell(tensor, column)));
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(std::size(kColumns), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << row[i];
      if (i + 1 < row.size()) out << std::string(widths[i] - DisplayWidth(row[i]) + 2, ' ');
    }
    out << "\n";
  }
  for (const OrderedJson& tensor : object["tensors"]) {
    if (!tensor.contains("problem")) continue;
    out << "note: " << DisplayBytes(Cell(tensor, "name")) << ": " << DisplayBytes(Cell(tensor, "problem")) << "\n";
  }
}

}  // namespace

extern const Inspector kWeightsInspector;
const Inspector kWeightsInspector = {"weights", &Recognises, &Inspect, &Print};

}  // namespace paritect
