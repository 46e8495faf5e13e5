// For tests of the checks over weights: states of models made of numbers, runs made of these, dumps made of norms.
// What a fingerprint is stands in formats/weights; here its fields are made by short rules of the same kind.
#ifndef PARITECT_CHECKS_WEIGHTS_FIXTURE_H_
#define PARITECT_CHECKS_WEIGHTS_FIXTURE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checks/settings/fixture.h"
#include "common/tensor_hashes.h"

namespace paritect {

using Floats = std::vector<float>;

// Normally distributed; the same on every machine (splitmix64, Box and Muller).
inline Floats RandomFloats(std::size_t count, unsigned seed, float deviation = 0.02F) {
  std::uint64_t state = 0x9E3779B97F4A7C15 * (seed + 1);
  const auto uniform = [&state] {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (static_cast<double>((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
  };
  Floats values(count);
  for (float& value : values) {
    const double size = std::sqrt(-2 * std::log(uniform()));
    value = deviation * static_cast<float>(size * std::cos(2 * 3.141592653589793 * uniform()));
  }
  return values;
}

inline float ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
}

inline v1::ValueHash HashOf(const Floats& values) {
  v1::ValueHash hash;
  for (const float value : values) {
    if (value == 0) {  // 0 adds nothing, -0 what it adds everywhere
      hash.set_low(hash.low() + (std::signbit(value) ? kNegativeZeroLow : 0));
      hash.set_high(hash.high() + (std::signbit(value) ? kNegativeZeroHigh : 0));
      continue;
    }
    std::uint64_t mixed = std::bit_cast<std::uint32_t>(value);
    mixed = mixed * 0x9E3779B97F4A7C15 ^ mixed * mixed;
    hash.set_low(hash.low() + mixed);
    hash.set_high(hash.high() + mixed * mixed);
  }
  return hash;
}

// As formats/weights/layout_hash.h has it, of the fixture's own mix.
inline v1::LayoutHash LayoutHashOf(const Floats& values, const std::vector<std::int64_t>& shape) {
  v1::LayoutHash hash;
  std::vector<std::uint64_t> axes(shape.size() < 2 ? 0 : shape.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t mix = values[i] == 0 ? 0 : HashOf({values[i]}).low();
    hash.set_order(hash.order() + PlaceWeight(i) * mix);
    std::uint64_t rest = i;
    for (std::size_t axis = axes.size(); axis-- > 0;) {
      axes[axis] += PlaceWeight(rest % static_cast<std::uint64_t>(shape[axis])) * mix;
      rest /= static_cast<std::uint64_t>(shape[axis]);
    }
  }
  for (const std::uint64_t axis : axes) hash.add_axes(axis);
  return hash;
}

inline Floats Transposed(const Floats& values, std::size_t rows, std::size_t columns) {
  Floats turned;
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) turned.push_back(values[r * columns + c]);
  }
  return turned;
}

inline v1::TensorFingerprint TensorOf(const std::string& name, std::vector<std::int64_t> shape, const Floats& values,
                                      const std::string& dtype = "F32") {
  v1::TensorFingerprint tensor;
  tensor.set_name(name);
  tensor.set_dtype(dtype);
  for (const std::int64_t size : shape) tensor.add_shape(size);
  v1::TensorStatistics& statistics = *tensor.mutable_statistics();
  statistics.set_zero(0);
  statistics.set_min(values.empty() ? 0 : values[0]);
  statistics.set_max(values.empty() ? 0 : values[0]);
  std::map<std::uint32_t, std::uint64_t> bins;
  std::uint64_t order = 1469598103934665603, word = 0;
  std::vector<double> sketch(64);
  Floats rounded;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    order = (order ^ bits) * 1099511628211;
    sketch[word % 64] += (word * 2654435761 >> 7 & 1) != 0 ? value : -value;
    tensor.mutable_words()->set_sum(tensor.words().sum() + bits);
    tensor.mutable_words()->set_weighted(tensor.words().weighted() + word * bits);
    tensor.mutable_words()->set_weighted_squared(tensor.words().weighted_squared() + word * word * bits);
    ++word;
    ++bins[bits >> 20];
    if (value == 0) statistics.set_zero(statistics.zero() + 1);
    if (value == 0 && std::signbit(value)) statistics.set_negative_zero(statistics.negative_zero() + 1);
    if (!std::isfinite(value)) {  // counted, and in no sum
      if (std::isnan(value)) statistics.set_nan(statistics.nan() + 1);
      if (std::isinf(value) && value > 0) statistics.set_positive_infinity(statistics.positive_infinity() + 1);
      if (std::isinf(value) && value < 0) statistics.set_negative_infinity(statistics.negative_infinity() + 1);
      rounded.push_back(value);
      continue;
    }
    statistics.set_min(std::min<double>(statistics.min(), value));
    statistics.set_max(std::max<double>(statistics.max(), value));
    statistics.set_sum(statistics.sum() + value);
    statistics.set_sum_of_squares(statistics.sum_of_squares() + static_cast<double>(value) * value);
    rounded.push_back(ToBf16(value));
  }
  statistics.set_finite(values.size() - statistics.nan() - statistics.positive_infinity() -
                        statistics.negative_infinity());
  tensor.mutable_words()->set_word_bytes(4);
  tensor.set_xxh3(absl::StrCat(dtype, absl::Hex(order)));
  *tensor.mutable_values() = HashOf(values);
  *tensor.mutable_layout() = LayoutHashOf(values, shape);
  if (dtype == "F32") *tensor.mutable_values_as_bf16() = HashOf(rounded);
  if (dtype == "F32") *tensor.mutable_layout_as_bf16() = LayoutHashOf(rounded, shape);
  for (const auto& [bin, count] : bins) {
    tensor.mutable_histogram()->add_bins(bin);
    tensor.mutable_histogram()->add_counts(count);
  }
  if (values.size() >= 64) {
    for (const double place : sketch) tensor.add_sketch(place);
  }
  return tensor;
}

inline v1::Weights StateAt(std::int64_t step, std::vector<v1::TensorFingerprint> tensors,
                           const std::string& stage = "") {
  v1::Weights weights;
  weights.set_format("safetensors");
  weights.set_step(step);
  weights.set_stage(stage);
  for (v1::TensorFingerprint& tensor : tensors) *weights.add_tensors() = std::move(tensor);
  return weights;
}
inline v1::Weights OfRank(std::int32_t rank, v1::Weights weights) {
  weights.set_rank(rank);
  return weights;
}

inline v1::Bundle WithWeights(v1::Bundle bundle, std::vector<v1::Weights> states) {
  for (v1::Weights& state : states) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_WEIGHTS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(absl::StrCat("step", state.step(), ".safetensors"));
    if (state.has_rank()) evidence.set_rank(state.rank());
    *evidence.mutable_weights() = std::move(state);
  }
  return bundle;
}

inline v1::Bundle WithStep(v1::Bundle bundle, std::int64_t step, double rate, bool skipped = false) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("train.log");
  v1::StepRecord& record = *evidence.mutable_run_log()->add_records();
  record.set_step(step);
  record.set_lr(rate);
  record.set_line(7);
  if (skipped) record.set_skipped(1);
  return bundle;
}

// A call by what it takes and gives: norms alone.
inline v1::DumpedCall CallOf(const std::string& name, std::vector<double> inputs, std::vector<double> outputs,
                             v1::DumpedCall::Direction direction = v1::DumpedCall::DIRECTION_FORWARD) {
  v1::DumpedCall call;
  call.set_name(name);
  const std::size_t end = name.rfind('.');
  const std::size_t begin = name.rfind('.', end - 1) + 1;
  call.set_operator_(name.substr(begin, end - begin));
  call.set_direction(direction);
  const auto add = [](double norm, const std::string& place, v1::DumpedTensor& tensor) {
    tensor.set_place(place);
    tensor.set_dtype("F32");
    tensor.add_shape(8);
    tensor.set_l2(norm);
    tensor.set_max(norm / 4);
    tensor.set_min(-norm / 5);
    tensor.set_mean(0);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) add(inputs[i], absl::StrCat("input.", i), *call.add_inputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) add(outputs[i], absl::StrCat("output.", i), *call.add_outputs());
  return call;
}

inline v1::Bundle WithDump(v1::Bundle bundle, std::vector<v1::DumpedCall> calls,
                           const std::string& framework = "pytorch", std::int32_t rank = 0) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_TENSORS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(absl::StrCat("step0/rank", rank, "/dump.json"));
  evidence.set_rank(rank);
  v1::TensorDump& dump = *evidence.mutable_tensor_dump();
  dump.set_step(0);
  dump.set_rank(rank);
  dump.set_framework(framework);
  for (v1::DumpedCall& call : calls) {
    call.set_order(dump.calls_size());
    *dump.add_calls() = std::move(call);
  }
  return bundle;
}

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_FIXTURE_H_
