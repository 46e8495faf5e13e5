#include "client/plan/told_input.h"

#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr std::size_t kNotTakenShown = 12;

std::string Size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"bytes", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return absl::StrFormat(unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string AtLeast(std::int64_t count, bool at_least) {
  return absl::StrCat(at_least ? "≥ " : "", count);
}

// The texts are written out, so that each can be found by its id.
absl::string_view MessageOf(const TakenSource& source) {
  if (source.key == "logs") return "taken_logs";
  if (source.key == "settings") return "taken_settings";
  if (source.key == "scripts") return source.files > 1 ? "taken_scripts/folder" : "taken_scripts";
  if (source.key == "shards") return "taken_shards";
  if (source.key == "observed") return "taken_observed";
  if (source.key == "weights") return "taken_weights";
  if (source.key == "tensors") return "taken_tensors";
  if (source.format != "tree" && source.count > 0) return "taken_datasets/list";
  return source.names_only ? "taken_datasets/names_only" : "taken_datasets";
}

// Between the parts of a list.
std::string Comma(const Rules& rules, absl::Span<const Language> languages) {
  return languages.size() == 1 ? In(languages[0], rules.messages.Say("ui_comma")) : ", ";
}

std::string RunName(const SideInput& input) {
  if (!input.plans.empty()) return DisplayBytes(input.plans[0].info().run());
  return input.bundles.empty() ? "" : DisplayBytes(input.bundles[0].plan().run());
}

std::string SourcesLine(const Rules& rules, absl::Span<const Language> languages, const SideInput& input) {
  std::vector<std::string> sources;
  for (const TakenSource& one : input.draft->taken) sources.push_back(SourceWords(rules, languages, one));
  for (const std::string& path : input.draft->recorded) {
    sources.push_back(Word(rules, languages, "taken_recorded", {{"path", DisplayBytes(path)}}));
  }
  for (const std::string& path : input.draft->bundles) {
    sources.push_back(Word(rules, languages, "taken_bundle", {{"path", DisplayBytes(path)}}));
  }
  return Word(rules, languages, "ui_read_run",
              {{"run", RunName(input)}, {"sources", absl::StrJoin(sources, Comma(rules, languages))}});
}

std::string NotTakenLine(const Rules& rules, absl::Span<const Language> languages, absl::Span<const SideInput> inputs) {
  std::vector<std::string> shown;
  std::size_t all = 0;
  for (const SideInput& input : inputs) {
    if (!input.draft) continue;
    for (const NotTaken& one : input.draft->not_taken) {
      if (++all > kNotTakenShown) continue;
      const std::string path = DisplayBytes(one.path.empty() ? input.path : JoinPath(input.path, one.path));
      shown.push_back(
          one.why == "not_taken_unknown" ? path : absl::StrCat(path, " (", NotTakenWords(rules, languages, one), ")"));
    }
  }
  if (shown.empty()) return "";
  if (all > kNotTakenShown) {
    shown.push_back(Word(rules, languages, "ui_more_not_recognised", {{"count", absl::StrCat(all - kNotTakenShown)}}));
  }
  return Word(rules, languages, "ui_not_recognised", {{"paths", absl::StrJoin(shown, Comma(rules, languages))}});
}

// Lines under one label; the further ones stand below the text of the first.
void AddWrapped(absl::string_view label, absl::string_view text, std::size_t columns, std::string& out) {
  const std::string blank(DisplayWidth(label), ' ');
  bool first = true;
  for (const std::string& line : Wrap(text, columns > label.size() + 20 ? columns - DisplayWidth(label) : 60)) {
    absl::StrAppend(&out, first ? std::string(label) : blank, line, "\n");
    first = false;
  }
}

}  // namespace

std::string SourceWords(const Rules& rules, absl::Span<const Language> languages, const TakenSource& source) {
  return Word(rules, languages, MessageOf(source),
              {{"path", DisplayBytes(source.path)},
               {"format", source.format},
               {"files", AtLeast(source.files, source.at_least && source.key == "datasets")},
               {"count", AtLeast(source.count, source.at_least)},
               {"size", Size(source.size_bytes)}});
}

std::string NotTakenWords(const Rules& rules, absl::Span<const Language> languages, const NotTaken& one) {
  return Word(rules, languages, one.why, {{"seen", DisplayBytes(one.seen)}});
}

std::string InputLines(const Rules& rules, absl::Span<const Language> languages, std::size_t columns,
                       absl::Span<const SideInput> inputs) {
  std::string out;
  std::vector<std::string> paths;
  std::size_t widest = 0;
  for (const SideInput& input : inputs) {
    if (input.draft) widest = std::max(widest, DisplayWidth(DisplayBytes(input.path)));
  }
  const std::string read = Word(rules, languages, "ui_read");
  for (const SideInput& input : inputs) {
    if (!input.draft) continue;
    const std::string label = paths.empty() ? read : std::string(DisplayWidth(read), ' ');
    AddWrapped(absl::StrCat(label, "  ", Pad(DisplayBytes(input.path), widest), "  "),
               SourcesLine(rules, languages, input), columns, out);
    if (!input.draft->plans.empty()) paths.push_back(DisplayBytes(input.path));
  }
  if (out.empty()) return out;
  const std::string indent(DisplayWidth(read) + 2, ' ');
  const std::string rest = NotTakenLine(rules, languages, inputs);
  if (!rest.empty()) AddWrapped(indent, rest, columns, out);
  if (!paths.empty()) {
    AddWrapped(indent, Word(rules, languages, "ui_plan_hint", {{"paths", absl::StrJoin(paths, " ")}}), columns, out);
  }
  return out;
}

OrderedJson InputToJson(const Rules& rules, const SideInput& input) {
  OrderedJson json = {{"path", JsonText(input.path)}, {"run", RunName(input)}};
  json["taken"] = OrderedJson::array();
  for (const TakenSource& source : input.draft->taken) {
    OrderedJson one = {{"path", JsonText(source.path)}, {"as", source.key}, {"format", source.format}};
    one["files"] = source.files;
    const bool step = source.key == "weights" || source.key == "tensors";
    if (source.count > 0 || step) one[step ? "step" : "count"] = source.count;
    if (source.at_least) one["at_least"] = true;
    if (source.size_bytes > 0) one["size"] = source.size_bytes;
    if (source.names_only) one["hashed"] = false;
    json["taken"].push_back(std::move(one));
  }
  for (const std::string& path : input.draft->recorded) {
    json["taken"].push_back({{"path", JsonText(path)}, {"as", "plan"}});
  }
  for (const std::string& path : input.draft->bundles) {
    json["taken"].push_back({{"path", JsonText(path)}, {"as", "bundle"}});
  }
  json["not_taken"] = OrderedJson::array();
  for (const NotTaken& one : input.draft->not_taken) {
    const v1::Text why = rules.messages.Say(one.why, {{"seen", DisplayBytes(one.seen)}});
    json["not_taken"].push_back({{"path", JsonText(one.path)}, {"why", {{"en", why.en()}, {"zh", why.zh()}}}});
  }
  return json;
}

}  // namespace paritect
