// A report far above what an audit makes (200 findings a check): what the one-file report is tested and measured with.
#ifndef PARITECT_CLIENT_RENDER_LARGE_REPORT_H_
#define PARITECT_CLIENT_RENDER_LARGE_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "paritect/v1/pictures.pb.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"

namespace paritect {

// Figures that no two rows share, the same at every run (SplitMix64).
inline std::uint64_t Scattered(std::uint64_t of) {
  of += 0x9e3779b97f4a7c15;
  of = (of ^ (of >> 30)) * 0xbf58476d1ce4e5b9;
  of = (of ^ (of >> 27)) * 0x94d049bb133111eb;
  return of ^ (of >> 31);
}

inline v1::Finding LargeReportFinding(int number, int nodes) {
  const std::uint64_t size = 1000 + Scattered(number) % 1'000'000'000;
  const std::uint64_t cut = Scattered(~number) % size;
  v1::Finding finding;
  finding.set_severity(number % 50 == 7 ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR);
  finding.set_subject(absl::StrFormat("train/shard-%03d/part-%06d.tfrecord", number % 997, number));
  finding.set_kind("truncated");
  *finding.mutable_message() =
      BuiltInRules().messages.Say("truncated", {{"at", absl::StrCat(cut)}, {"size", absl::StrCat(size)}});
  *finding.mutable_remedy() = BuiltInRules().messages.Fix("truncated");
  finding.set_baseline(absl::StrFormat("%d bytes, md5 %016x%016x", size, Scattered(size), Scattered(~size)));
  finding.set_migrated(absl::StrFormat("%d bytes, md5 %016x%016x", cut, Scattered(cut), Scattered(~cut)));
  (*finding.mutable_facts()->mutable_fields())["baseline_size"].set_number_value(static_cast<double>(size));
  (*finding.mutable_facts()->mutable_fields())["migrated_size"].set_number_value(static_cast<double>(cut));
  finding.add_nodes(absl::StrFormat("npu-%03d", Scattered(number) % nodes));
  finding.add_evidence(absl::StrCat(finding.nodes(0), ".md5:", number));
  return finding;
}

// `nodes` a side; the findings are spread over all checks of the catalogue.
inline v1::Report LargeReport(int nodes, int findings) {
  const Catalogue& catalogue = BuiltInRules().catalogue;
  v1::Report report;
  report.set_verdict(v1::VERDICT_FAIL);
  report.set_profile("pre-tuning/1");
  for (auto* const side : {report.mutable_baseline(), report.mutable_migrated()}) {
    v1::ReportRun& run = *side->add_runs();
    run.set_name(side == &report.baseline() ? "gpu" : "npu");
    for (int node = 0; node < nodes; ++node) run.add_nodes(absl::StrFormat("%s-%03d", run.name(), node));
  }
  const int of_item = findings / static_cast<int>(catalogue.items.size()) + 1;
  int made = 0;
  for (const CatalogueItem& item : catalogue.items) {
    v1::ItemResult& result = *report.add_items();
    result.set_id(item.id);
    *result.mutable_title() = item.title;
    result.set_verdict(v1::VERDICT_FAIL);
    for (const CatalogueCheck& check : item.checks) {
      v1::CheckResult& one = *result.add_checks();
      one.set_id(check.id);
      *one.mutable_title() = check.title;
      one.set_verdict(v1::VERDICT_FAIL);
      const int of_check = of_item / static_cast<int>(item.checks.size()) + 1;
      for (int i = 0; i < of_check && made < findings; ++i) *one.add_findings() = LargeReportFinding(made++, nodes);
    }
  }
  return report;
}

// A source of every node for every item, and a few curves.
inline v1::ReportPictures LargeReportPictures(int nodes) {
  v1::ReportPictures pictures;
  for (int row = 0; row < 2 * nodes * 17; ++row) {
    v1::EvidenceRow& one = *pictures.add_evidence();
    one.set_side(row % 2 == 0 ? "baseline" : "migrated");
    one.set_run(row % 2 == 0 ? "gpu" : "npu");
    one.set_node(absl::StrFormat("%s-%03d", one.run(), row / 2 % nodes));
    one.set_kind("files");
    one.set_source(absl::StrCat("/data/lists/", row, ".md5"));
    one.set_outcome("collected");
    one.set_format("md5sum");
    one.set_entries(static_cast<std::int64_t>(Scattered(row) % 100'000));
    std::string digest;
    for (int part = 0; part < 4; ++part)
      absl::StrAppend(&digest, absl::StrFormat("%08x", Scattered(4 * row + part) >> 32));
    one.set_sha256(digest);
  }
  pictures.set_evidence_total(pictures.evidence_size());
  for (const char* const metric : {"loss", "lr", "grad_norm", "loss_scale"}) {
    v1::CurvePicture& curve = *pictures.add_curves();
    curve.set_metric(metric);
    curve.set_baseline_run("gpu");
    curve.set_migrated_run("npu");
    curve.set_axis("steps");
    curve.set_limit(0.01);
    for (int step = 0; step < 1200; ++step) {
      curve.add_at(step);
      curve.add_baseline(9.0 / (1 + step * 0.01));
      curve.add_migrated(9.1 / (1 + step * 0.01));
      curve.add_difference_at(step);
      curve.add_difference(0.011);
    }
    curve.set_points_total(1200);
  }
  return pictures;
}

}  // namespace paritect

#endif  // PARITECT_CLIENT_RENDER_LARGE_REPORT_H_
