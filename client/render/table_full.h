// The parts of the table that `--full` adds to the first screen: all that is missing, answers, warnings, notes.
#ifndef PARITECT_CLIENT_RENDER_TABLE_FULL_H_
#define PARITECT_CLIENT_RENDER_TABLE_FULL_H_

#include <string>

#include "client/render/table_writer.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

// Writes them to `writer`, in this order. All must outlive the call.
void WriteFullParts(const v1::Report& report, const RenderOptions& options, TableWriter& writer);

// "[file:line; file:line]": where a finding stands, each place once; "" where it names none.
std::string SourcesOf(const v1::Finding& finding, const TableWriter& writer);

}  // namespace paritect

#endif  // PARITECT_CLIENT_RENDER_TABLE_FULL_H_
