// report_bench [FILE]: the one-file report of 100 nodes a side, all items and 100,000 findings: how long it takes to
// make, how large it is, how much memory it needs beside the report itself. FILE keeps it, for `bench/report_paint`.
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/render/large_report.h"
#include "client/report/renderer.h"

namespace paritect {
namespace {

constexpr int kNodes = 100;
constexpr int kFindings = 100'000;
constexpr double kSecondsAim = 5;

long PeakKibibytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int Main(int argc, char** argv) {
  const v1::Report report = LargeReport(kNodes, kFindings);
  const v1::ReportPictures pictures = LargeReportPictures(kNodes);
  const long before = PeakKibibytes();
  std::ostringstream out;
  const absl::Time began = absl::Now();
  FindRenderer("html")->render(report, {.rules = BuiltInRules(), .companion = {.pictures = &pictures}}, out);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - began);
  const std::string html = out.str();
  const long peak = PeakKibibytes();
  std::printf("made in            %.2f s (aim %.0f)\n", seconds, kSecondsAim);
  std::printf("size               %.1f MB\n", static_cast<double>(html.size()) / 1e6);
  std::printf("as rows it had     %.1f MB\n", static_cast<double>(DumpJson(ReportToJson(report), -1).size()) / 1e6);
  std::printf("memory beside it   %ld MiB\n", (peak - before) / 1024);
  if (argc > 1) std::ofstream(argv[1], std::ios::binary) << html;
  return seconds < kSecondsAim ? 0 : 1;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  return paritect::Main(argc, argv);
}
