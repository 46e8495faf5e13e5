// Enrolled nodes and persons as tables, as lines about one of them, and as JSON.
#ifndef PARITECT_CLIENT_REMOTE_NODE_ROWS_H_
#define PARITECT_CLIENT_REMOTE_NODE_ROWS_H_

#include <cstdint>
#include <ostream>
#include <vector>

#include "client/report/json.h"
#include "paritect/v1/operators.pb.h"
#include "report/language.h"
#include "rules/products.h"

namespace paritect {

enum class NodeColumns { kFew, kWide };

OrderedJson NodeJson(const Products& products, const v1::NodeRow& row);
// `now_unix_ms`: times are told from there ("3s ago").
void PrintNodeTable(std::ostream& out, const std::vector<v1::NodeRow>& rows, NodeColumns columns,
                    std::int64_t now_unix_ms, Language language);
// Everything that is known of one, a line each.
void PrintNode(std::ostream& out, const Products& products, const v1::NodeRow& row, std::int64_t now_unix_ms,
               Language language);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_NODE_ROWS_H_
