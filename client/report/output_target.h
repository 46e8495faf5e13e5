// `-o FORMAT[=FILE]` or `-o FILE` by its ending: which formats of a report go where.
#ifndef PARITECT_CLIENT_REPORT_OUTPUT_TARGET_H_
#define PARITECT_CLIENT_REPORT_OUTPUT_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "client/report/renderer.h"

namespace paritect {

struct OutputTarget {
  const Renderer* renderer = nullptr;
  std::string file;  // "": standard output
};

// In the order given; none given: the table on standard output. InvalidArgument: a format that this build lacks, two
// formats on standard output, one file twice, a file in a folder that is not there or may not be written. Asked before
// the long work of collecting begins.
absl::StatusOr<std::vector<OutputTarget>> ParseOutputTargets(const std::vector<std::string>& options);

// Whether a target wants the pictures.
bool AnyDraws(const std::vector<OutputTarget>& targets);

// "csv, html, json": what `-o` takes.
std::string RendererNames();

// Writes the report to every target. Files are written in full or not at all; a pipe or device is written
// directly. Colour only on standard output.
absl::Status WriteOutputs(CommandEnv& env, const std::vector<OutputTarget>& targets, const v1::Report& report,
                          const RenderOptions& options);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_OUTPUT_TARGET_H_
