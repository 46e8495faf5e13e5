// -o sarif: SARIF 2.1.0, for code hosts and editors. A rule a check, a result an error or warning; a waiver is an
// accepted suppression; what was not performed is a notification of the invocation.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/report/json.h"
#include "client/report/renderer.h"
#include "common/digest.h"
#include "common/utf8.h"
#include "common/version.h"
#include "re2/re2.h"
#include "report/view.h"

namespace paritect {
namespace {

struct Place {
  std::string file;
  std::int64_t line = 0;  // 0: the file as a whole
};

// "run.sh:14", "train.py:3: SGD(lr=0.1)", "npu/data", of what else evidence may say: a sentence has blanks, a place has
// none but where a folder or an ending, and a line, make it one.
std::optional<Place> PlaceOf(absl::string_view evidence) {
  static const RE2& with_line = *new RE2(R"(([^\s:]+|[^:]*[./][^:]*):(\d{1,9})(?::\d+)?(?:: .*)?)");
  static const RE2& path = *new RE2(R"([^\s:]*[./][^\s:]*)");
  const re2::StringPiece text(evidence.data(), evidence.size());
  Place place;
  if (RE2::FullMatch(text, with_line, &place.file, &place.line) && place.line > 0) return place;
  if (RE2::FullMatch(text, path)) return Place{std::string(evidence), 0};
  return std::nullopt;
}

// "1e-05 (gpu/args.json:2)": what stands in the brackets at the end; "" where nothing does.
absl::string_view InBrackets(absl::string_view value) {
  const std::size_t open = value.rfind('(');
  if (open == absl::string_view::npos || !absl::EndsWith(value, ")")) return "";
  return value.substr(open + 1, value.size() - open - 2);
}

// Of one piece of evidence, which may name several ("a.json:3, b.json:4") with a remark behind ("run.sh:3 (default)").
void AddPlaces(absl::string_view evidence, std::vector<Place>& places) {
  for (absl::string_view part : absl::StrSplit(evidence, absl::ByAnyChar(",;"))) {
    part = absl::StripAsciiWhitespace(part);
    if (!InBrackets(part).empty()) part = absl::StripAsciiWhitespace(part.substr(0, part.rfind('(')));
    const auto place = PlaceOf(part);
    const auto same = [&](const Place& one) { return one.file == place->file && one.line == place->line; };
    if (place.has_value() && std::none_of(places.begin(), places.end(), same)) places.push_back(*place);
  }
}

// As evidence names them; else as the compared values do.
std::vector<Place> PlacesOf(const v1::Finding& finding) {
  std::vector<Place> places;
  for (const std::string& evidence : finding.evidence()) {
    // Where a name has a comma in it the whole is tried first.
    if (const auto whole = PlaceOf(evidence); whole.has_value() && whole->line > 0) {
      places.push_back(*whole);
    } else {
      AddPlaces(evidence, places);
    }
  }
  for (const std::string* value : {&finding.migrated(), &finding.baseline()}) {
    if (!places.empty()) break;
    AddPlaces(InBrackets(*value), places);
  }
  return places;
}

// A relative reference of RFC 3986: everything but unreserved characters and '/' is written %HH.
std::string Uri(absl::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~' || c == '/';
    absl::StrAppend(&uri, plain ? std::string(1, c) : absl::StrCat("%", ToHex(std::string(1, c))));
  }
  return uri;
}

OrderedJson LocationOf(const Place& place) {
  OrderedJson physical = {{"artifactLocation", {{"uri", Uri(place.file)}}}};
  if (place.line > 0) physical["region"] = {{"startLine", place.line}};
  return {{"physicalLocation", physical}};
}

class Sarif {
 public:
  explicit Sarif(const RenderOptions& options) : options_(options) {}

  OrderedJson Document(const v1::Report& report) {
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) Check(check);
    }
    const OrderedJson driver = {
        {"name", "Paritect"}, {"semanticVersion", std::string(kProgramVersion)}, {"rules", std::move(rules_)}};
    OrderedJson run = {
        {"tool", {{"driver", driver}}},
        {"invocations", {{{"executionSuccessful", true}, {"toolExecutionNotifications", std::move(open_)}}}},
        {"columnKind", "unicodeCodePoints"},
        {"results", std::move(results_)},
        {"properties", {{"verdict", VerdictWord(report.verdict())}, {"profile", report.profile()}}}};
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", OrderedJson::array({std::move(run)})}};
  }

 private:
  std::string Say(const v1::Text& text) const { return JsonText(InAll(options_.languages, text)); }

  void Check(const v1::CheckResult& check) {
    OrderedJson rule = {{"id", check.id()}, {"shortDescription", {{"text", Say(check.title())}}}};
    const CatalogueCheck* known = options_.rules.catalogue.FindCheck(check.id());
    if (known != nullptr) rule["fullDescription"] = {{"text", Say(known->rule)}};
    if (known != nullptr && !known->fix.en().empty()) rule["help"] = {{"text", Say(known->fix)}};
    const std::size_t index = rules_.size();
    rules_.push_back(std::move(rule));
    for (const v1::Finding& finding : check.findings()) {
      if (ClassOf(finding) != FindingClass::kNote) Result(check, index, finding);
    }
    for (const v1::Missing& missing : check.missing()) {
      open_.push_back({{"level", "note"},
                       {"message", {{"text", absl::StrCat(Say(missing.what()), " ", Say(missing.how()))}}},
                       {"associatedRule", {{"id", check.id()}, {"index", index}}}});
    }
  }

  void Result(const v1::CheckResult& check, std::size_t index, const v1::Finding& finding) {
    const std::string subject = JsonText(finding.subject());
    std::string text = absl::StrCat(subject, subject.empty() ? "" : ": ", Say(finding.message()));
    if (!finding.baseline().empty() || !finding.migrated().empty()) {
      absl::StrAppend(&text, " (", Word(options_.rules, options_.languages, "ui_baseline"), " ",
                      JsonText(finding.baseline()), ", ", Word(options_.rules, options_.languages, "ui_migrated"), " ",
                      JsonText(finding.migrated()), ")");
    }
    OrderedJson result = {{"ruleId", check.id()},
                          {"ruleIndex", index},
                          {"level", SeverityWord(finding.severity())},
                          {"message", {{"text", text}}},
                          {"locations", LocationsOf(finding)},
                          {"partialFingerprints",
                           {{"paritectFinding/v1",
                             ToHex(Sha256(absl::StrCat(check.id(), "\n", finding.kind(), "\n", finding.subject())))}}},
                          {"properties", {{"kind", finding.kind()}, {"remedy", Say(finding.remedy())}}}};
    if (finding.has_waived()) {
      const v1::Waiver& waiver = finding.waived();
      result["suppressions"] = {{{"kind", "external"},
                                 {"status", "accepted"},
                                 {"justification", JsonText(waiver.reason())},
                                 {"properties", {{"by", JsonText(waiver.by())}, {"until", waiver.until()}}}}};
    }
    results_.push_back(std::move(result));
  }

  // Where the evidence stands; else the thing itself, by name.
  static OrderedJson LocationsOf(const v1::Finding& finding) {
    OrderedJson locations = OrderedJson::array();
    for (const Place& place : PlacesOf(finding)) locations.push_back(LocationOf(place));
    if (locations.empty() && !finding.subject().empty()) {
      locations.push_back({{"logicalLocations", {{{"fullyQualifiedName", JsonText(finding.subject())}}}}});
    }
    return locations;
  }

  const RenderOptions& options_;
  OrderedJson rules_ = OrderedJson::array();
  OrderedJson results_ = OrderedJson::array();
  OrderedJson open_ = OrderedJson::array();
};

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  out << DumpJson(Sarif(options).Document(report)) << "\n";
}

}  // namespace

extern const Renderer kSarifRenderer;
const Renderer kSarifRenderer = {"sarif", &Render};

}  // namespace paritect
