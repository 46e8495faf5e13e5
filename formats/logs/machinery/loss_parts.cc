#include "formats/logs/machinery/loss_parts.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "formats/logs/machinery/log_keys.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

std::int32_t EngineOf(const StepValues& record) {
  return record.has_engine() ? record.engine() : -1;
}

// "box_loss" of "train/box_loss": a program names its terms otherwise in each of its files.
std::string PlainNameOf(absl::string_view term) {
  const std::string name = NormalMetricKey(term);
  return std::string(absl::StripPrefix(name, "train_"));
}

// The record's terms by name, each once, with their sum.
struct Terms {
  std::set<std::string, std::less<>> names;
  double sum = 0;
};

Terms TermsOf(const StepValues& record) {
  Terms found;
  for (const auto& [name, value] : record.metrics().entries()) {
    if (!LookUpLogKey(*name).summed) continue;
    if (found.names.insert(PlainNameOf(*name)).second) found.sum += value;
  }
  return found;
}

void ClearLoss(StepValues& record) {
  record.clear_loss();
  record.clear_loss_resolution();
}

}  // namespace

bool LossParts::Take(const StepValues& record) {
  if (!record.loss_of_parts()) return false;
  Names& names = of_engine_[EngineOf(record)];
  bool is_new = false;
  for (const auto& [name, value] : record.metrics().entries()) {
    const LogKey& key = LookUpLogKey(*name);
    if (key.summed) {
      is_new = names.terms.insert(PlainNameOf(*name)).second || is_new;
    } else if (key.field == LogField::kOtherLoss) {
      is_new = names.others.insert(*name).second || is_new;
    }
  }
  return is_new;
}

const LossParts::Names* LossParts::NamesFor(const StepValues& record) const {
  const auto found = of_engine_.find(EngineOf(record));
  return record.loss_of_parts() && found != of_engine_.end() ? &found->second : nullptr;
}

void LossParts::Settle(StepValues& record) const {
  const Names* names = NamesFor(record);
  if (names == nullptr) return;
  if (!names->sums()) {
    if (names->terms.size() + names->others.size() > 1) ClearLoss(record);
    return;
  }
  const Terms terms = TermsOf(record);
  if (terms.names.size() < names->terms.size()) return ClearLoss(record);
  record.set_loss(terms.sum);
  record.set_loss_absent(false);
}

bool LossParts::LacksTerm(const StepValues& record) const {
  const Names* names = NamesFor(record);
  return names != nullptr && names->sums() && TermsOf(record).names.size() < names->terms.size();
}

bool LossParts::sums() const {
  return std::any_of(of_engine_.begin(), of_engine_.end(), [](const auto& one) { return one.second.sums(); });
}

std::vector<std::string> LossParts::terms() const {
  std::set<std::string> all;
  for (const auto& [engine, names] : of_engine_) {
    if (names.sums()) all.insert(names.terms.begin(), names.terms.end());
  }
  return {all.begin(), all.end()};
}

}  // namespace paritect
