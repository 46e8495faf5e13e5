#include "client/render/table_full.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/node_names.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr std::size_t kValueColumns = 160;  // a longer value stands in full in -o json

class FullParts {
 public:
  FullParts(const v1::Report& report, const RenderOptions& options, TableWriter& writer)
      : report_(report), options_(options), w_(writer) {}

  void Write() {
    MissingEvidence();
    Answers();
    Listed(FindingClass::kWarning, "ui_warnings");
    Listed(FindingClass::kNote, "ui_notes");
    if (report_.warnings_size() > 0) w_.Heading(Say("ui_about_answers"));
    for (const v1::Text& warning : report_.warnings()) w_.WrappedText(0, "", warning);
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(options_.rules, options_.languages, id, args);
  }

  // What stands before a wrapped text, which is parted from it by a blank.
  std::string Label(absl::string_view id) const {
    return absl::StrCat(Say(id), absl::StripTrailingAsciiWhitespace(Colon(options_.languages[0])));
  }

  void CheckTitle(const v1::CheckResult& check) {
    w_.Wrapped(0, check.id(), InAll(options_.languages, check.title()), Style::kBold);
  }

  std::string Shown(const std::string& value) const { return ValueIn(options_.languages[0], value); }

  // "baseline A ≠ migrated B  [source; source]"
  std::string Values(const v1::Finding& finding) {
    std::vector<std::string> parts;
    if (!finding.baseline().empty()) {
      parts.push_back(absl::StrCat(Say("ui_baseline"), " ", w_.Safe(Shown(finding.baseline()), kValueColumns)));
    }
    if (!finding.migrated().empty()) {
      parts.push_back(absl::StrCat(Say("ui_migrated"), " ", w_.Safe(Shown(finding.migrated()), kValueColumns)));
    }
    // A note may set values side by side that a rule takes as equal.
    const bool differ =
        parts.size() == 2 && finding.baseline() != finding.migrated() && finding.severity() != v1::SEVERITY_NOTE;
    std::string line = absl::StrJoin(parts, differ ? absl::StrCat(" ", w_.against(), " ") : std::string(w_.dot()));
    const std::string sources = SourcesOf(finding, w_);
    if (!sources.empty()) absl::StrAppend(&line, line.empty() ? "" : "  ", sources);
    return line;
  }

  void MissingEvidence() {
    const std::vector<MissingGroup> groups = GroupMissing(report_, options_.rules);
    if (groups.empty()) return;
    w_.Heading(Say("ui_missing"));
    for (const MissingGroup& group : groups) {
      for (const v1::Text& what : group.what) {
        w_.WrappedText(0, w_.dot().substr(1, w_.dot().size() - 2), what, Style::kYellow);
      }
      From(group);
      if (!group.how.en().empty()) w_.WrappedText(4, Label("ui_get"), group.how, Style::kGreen);
      w_.Wrapped(4, Label("ui_needed_by"), CompressIds(group.checks), Style::kDim);
    }
  }

  void From(const MissingGroup& group) {
    std::vector<std::string> named;
    for (const std::string& from : group.from) {
      // A side is named in the sentence itself.
      if (from != "baseline" && from != "migrated") named.push_back(from);
    }
    if (!named.empty()) w_.Wrapped(4, Label("ui_from"), FoldNodeNames(named), Style::kDim);
  }

  void Answers() {
    bool any = false;
    const auto heading = [&] {
      if (!any) w_.Heading(Say("ui_waived"));
      any = true;
    };
    ForEachFinding(report_, FindingClass::kWaived, [&](const v1::CheckResult& check, const v1::Finding& finding) {
      heading();
      CheckTitle(check);
      Brief(finding);
      const v1::Waiver& waiver = finding.waived();
      w_.Wrapped(4, "",
                 Say("ui_waived_by", {{"by", waiver.by()}, {"until", waiver.until()}, {"reason", waiver.reason()}}));
    });
    for (const v1::ItemResult& item : report_.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        if (!check.has_attested()) continue;
        heading();
        CheckTitle(check);
        const v1::Attestation& a = check.attested();
        w_.Wrapped(4, "", Say("ui_attested_by", {{"by", a.by()}, {"until", a.until()}, {"reason", a.reason()}}));
      }
    }
  }

  void Listed(FindingClass wanted, absl::string_view heading_id) {
    const v1::CheckResult* last = nullptr;
    ForEachFinding(report_, wanted, [&](const v1::CheckResult& check, const v1::Finding& finding) {
      if (last == nullptr) w_.Heading(Say(heading_id));
      if (&check != last) CheckTitle(check);
      last = &check;
      Brief(finding);
    });
  }

  void Brief(const v1::Finding& finding) {
    std::string text = InAll(options_.languages, finding.message());
    // Many messages begin with their subject already.
    const bool named = absl::StartsWith(finding.message().en(), finding.subject());
    if (!named) text = absl::StrCat(w_.Safe(finding.subject(), 80), Colon(options_.languages[0]), text);
    const std::string values = Values(finding);
    if (!values.empty()) absl::StrAppend(&text, w_.dot(), values);
    w_.Wrapped(2, finding.kind(), text, Style::kDim);
  }

  const v1::Report& report_;
  const RenderOptions& options_;
  TableWriter& w_;
};

}  // namespace

std::string SourcesOf(const v1::Finding& finding, const TableWriter& writer) {
  std::vector<std::string> sources;
  for (const std::string& evidence : finding.evidence()) {
    const std::string source = writer.Safe(evidence, kValueColumns);
    if (std::find(sources.begin(), sources.end(), source) == sources.end()) sources.push_back(source);
  }
  return sources.empty() ? "" : absl::StrCat("[", absl::StrJoin(sources, "; "), "]");
}

void WriteFullParts(const v1::Report& report, const RenderOptions& options, TableWriter& writer) {
  FullParts(report, options, writer).Write();
}

}  // namespace paritect
