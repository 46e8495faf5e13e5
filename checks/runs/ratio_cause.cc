#include "checks/runs/ratio_cause.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/series/repeats.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

struct Quantity {
  std::string text;
  double value = 0;
  std::vector<std::string> evidence;
};

double WholePart(double ratio) {
  return ratio >= 1 ? ratio : 1 / ratio;
}

void AddStated(const SettingsView& view, absl::string_view key, std::vector<Quantity>& quantities) {
  const std::optional<double> number = view.Number(key);
  const EffectiveValue* found = view.Find(key);
  if (!number.has_value() || found == nullptr) return;
  quantities.push_back(
      {absl::StrCat(key, " ", Short(*number), " of ", view.run_name()), *number, {found->value.origin}});
}

void AddDerived(const Derived& derived, absl::string_view name, const SettingsView& view,
                std::vector<Quantity>& quantities) {
  if (!derived.value.has_value()) return;
  quantities.push_back(
      {absl::StrCat(name, " ", Short(*derived.value), " of ", view.run_name()), *derived.value, derived.evidence});
}

// The larger of the two over the smaller.
void AddQuotient(absl::string_view name, const Derived& a, const Derived& b, std::vector<Quantity>& quantities) {
  if (!a.value.has_value() || !b.value.has_value() || !(*a.value > 0) || !(*b.value > 0)) return;
  Quantity one{absl::StrCat("the quotient of ", name, " ", Short(*a.value), " and ", Short(*b.value)),
               WholePart(*b.value / *a.value), a.evidence};
  one.evidence.insert(one.evidence.end(), b.evidence.begin(), b.evidence.end());
  quantities.push_back(std::move(one));
}

Derived StatedNumber(const SettingsView& view, absl::string_view key) {
  Derived derived;
  derived.value = view.Number(key);
  if (const EffectiveValue* found = view.Find(key)) derived.evidence = {found->value.origin};
  return derived;
}

}  // namespace

bool IsWholeRatio(const Profile& profile, double ratio) {
  if (!(ratio > 0)) return false;
  const double whole = WholePart(ratio);
  return whole > 1.5 && std::fabs(whole / std::round(whole) - 1) < profile.threshold("constant_ratio_whole");
}

RatioCause CauseOfRatio(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated,
                        double ratio) {
  RatioCause cause;
  if (!(ratio > 0) || !std::isfinite(ratio)) return cause;
  const SettingsView& a = SettingsView::Of(context, Side::kBaseline, baseline.view);
  const SettingsView& b = SettingsView::Of(context, Side::kMigrated, migrated.view);
  std::vector<Quantity> quantities;
  for (const SettingsView* view : {&b, &a}) {
    AddStated(*view, "gradient_accumulation_steps", quantities);
    AddDerived(DataParallelSize(*view), "data-parallel size", *view, quantities);
    AddStated(*view, "world_size", quantities);
    AddStated(*view, "devices_per_node", quantities);
  }
  AddQuotient("the accumulation steps", StatedNumber(a, "gradient_accumulation_steps"),
              StatedNumber(b, "gradient_accumulation_steps"), quantities);
  AddQuotient("the global batches", GlobalBatch(a), GlobalBatch(b), quantities);
  std::vector<std::string> texts;
  std::set<std::string> places;
  const double within = context.profile.threshold("ratio_explained");
  for (const Quantity& one : quantities) {
    if (one.value < 1.5 || std::fabs(WholePart(ratio) / one.value - 1) > within) continue;
    texts.push_back(one.text);
    places.insert(one.evidence.begin(), one.evidence.end());
  }
  cause.text = absl::StrJoin(texts, " or ");
  cause.evidence.assign(places.begin(), places.end());
  return cause;
}

RatioCause CauseOfRateRatio(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated,
                            double ratio) {
  const Derived a = StatedNumber(SettingsView::Of(context, Side::kBaseline, baseline.view), "lr_base");
  const Derived b = StatedNumber(SettingsView::Of(context, Side::kMigrated, migrated.view), "lr_base");
  if (a.value.has_value() && b.value.has_value() && *a.value > 0 &&
      std::fabs(*b.value / *a.value / ratio - 1) <= context.profile.threshold("ratio_explained")) {
    std::vector<Quantity> rates;
    AddQuotient("the base learning rates", a, b, rates);
    if (!rates.empty()) return {rates[0].text, rates[0].evidence};
  }
  return CauseOfRatio(context, baseline, migrated, ratio);
}

std::string RatioMessage(const CheckContext& context, absl::string_view id, const RatioCause& cause, double ratio) {
  if (cause.known()) return std::string(id);
  return absl::StrCat(id, IsWholeRatio(context.profile, ratio) ? "/whole" : "/unexplained");
}

}  // namespace paritect
