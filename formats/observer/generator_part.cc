#include "formats/observer/generator_part.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/observer/value_text.h"

namespace paritect {
namespace {

constexpr std::size_t kGeneratorsMax = 16;
constexpr std::size_t kOwnMax = 16;
constexpr char kOwnGenerator[] = "numpy.random.default_rng";

std::string FieldText(const DocumentNode* map, absl::string_view field) {
  const DocumentNode* found = map == nullptr ? nullptr : map->Find(field);
  return found == nullptr || found->is_null() ? "" : ValueText(*found);
}

}  // namespace

bool GeneratorPart::Take(const ObservedRecord& record) {
  const std::string kind = record.kind();
  if (kind == "seeds") return TakeSeeds(record), true;
  if (kind == "drawn") return TakeDrawn(record), true;
  if (kind != "seed") return false;
  if (record.Text("call") == kOwnGenerator && record.Find("value") == nullptr && unseeded_.size() < kOwnMax &&
      !record.Integer("calls").has_value()) {
    unseeded_.push_back({record.line(), record.Text("call"), record.Text("where")});
  }
  return true;
}

void GeneratorPart::TakeSeeds(const ObservedRecord& record) {
  seed_ = record.Text("torch");
  line_ = record.line();
  const DocumentNode* start = record.Find("start");
  const DocumentNode* seeded = record.Find("seeded");
  for (const auto& [field, value] : record.fields().fields) {
    absl::string_view name = field.text;
    if (!absl::ConsumeSuffix(&name, "_state") || value.is_null() || generators_.size() >= kGeneratorsMax) continue;
    Generator& one = generators_[std::string(name)];
    one.first = value.text;
    one.start = FieldText(start, field.text);
    const DocumentNode* call = seeded == nullptr ? nullptr : seeded->Find(name);
    one.watched = call != nullptr;
    one.seeded = call != nullptr && call->is_map();
    if (!one.seeded) continue;
    one.value = FieldText(call, "value");
    one.where = FieldText(call, "where");
  }
}

void GeneratorPart::TakeDrawn(const ObservedRecord& record) {
  for (const DocumentNode& name : record.List("generators")) {
    const auto found = generators_.find(name.text);
    if (found != generators_.end()) found->second.drawn = true;
  }
}

void GeneratorPart::AddFacts(SettingsBuilder& facts) const {
  if (!seed_.empty()) facts.Add("seed", seed_, line_);
  for (const auto& [name, one] : generators_) {
    const auto add = [&](absl::string_view key, absl::string_view value) {
      v1::Setting* fact = facts.AddText(absl::StrCat("observed.generator.", key), value, line_);
      if (fact != nullptr) fact->set_scope(name);
    };
    add("digest", one.first);
    if (one.watched) add("seeded", one.seeded ? "true" : "false");
    if (!one.value.empty()) add("seed", one.value);
    if (!one.where.empty()) add("where", one.where);
    // Seeding moves it too; that is no harm: seeded alike it stands alike.
    if (one.drawn || (!one.start.empty() && one.start != one.first)) add("drawn", "true");
  }
  int number = 0;
  for (const OwnGenerator& one : unseeded_) {
    v1::Setting* fact = facts.AddText("observed.generator.unseeded", one.where, one.line);
    if (fact != nullptr) fact->set_scope(absl::StrCat(one.call, number == 0 ? "" : absl::StrCat(" ", number + 1)));
    ++number;
  }
}

}  // namespace paritect
