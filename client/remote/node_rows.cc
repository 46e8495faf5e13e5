#include "client/remote/node_rows.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/remote/words.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

// Records that lay in the node's spool when it last connected.
std::int64_t Spooled(const v1::NodeRecord& node) {
  const v1::Hello& hello = node.hello();
  return hello.next_sequence() > hello.first_available()
             ? static_cast<std::int64_t>(hello.next_sequence() - hello.first_available())
             : 0;
}

std::string SpoolWord(const v1::NodeRecord& node) {
  if (!node.has_hello()) return "-";
  std::string word = absl::StrCat(Spooled(node), " records");
  if (node.has_spool() && node.spool().bytes() > 0) absl::StrAppend(&word, ", ", BytesWord(node.spool().bytes()));
  return word;
}

std::string ClockWord(const v1::NodeRecord& node) {
  return node.clock_offset_known() ? absl::StrFormat("%+d ms", node.clock_offset_ms()) : "-";
}

// Two agents with one identity must not look well.
std::string StateWord(const v1::NodeRow& row) {
  return row.node().contests() > 0 ? absl::StrCat(row.state(), " (two agents!)") : row.state();
}

std::string TaskWord(const v1::TaskProgress& task) {
  if (task.task_id().empty()) return "-";
  std::string word = absl::StrCat(task.task_id(), ", ", task.stage());
  if (task.bytes_total() > 0) {
    absl::StrAppend(&word, " ", BytesWord(task.bytes_done()), " of ", BytesWord(task.bytes_total()));
  } else if (task.files_total() > 0) {
    absl::StrAppend(&word, " ", task.files_done(), " of ", task.files_total(), " files");
  }
  return word;
}

std::map<std::string, std::string> LabelsOf(const v1::NodeRecord& node) {
  return {node.hello().labels().begin(), node.hello().labels().end()};
}

std::map<std::string, int> DevicesOf(const v1::NodeRecord& node) {
  return {node.hello().devices().begin(), node.hello().devices().end()};
}

std::string LabelWord(const v1::NodeRecord& node) {
  const auto labels = LabelsOf(node);
  return labels.empty() ? "-" : absl::StrJoin(labels, ",", absl::PairFormatter("="));
}

// Accelerators by their product's name; one that the rules do not know by what its node calls it.
std::string DevicesWord(const Products& products, const v1::NodeRecord& node) {
  std::vector<std::string> words;
  for (const auto& [what, count] : DevicesOf(node)) {
    const ProductFamily* family = products.FamilyOfPciId(what);
    words.push_back(family == nullptr ? absl::StrCat(count, " x ", what)
                                      : absl::StrCat(count, " x ", family->name, " (", what, ")"));
  }
  return words.empty() ? "-" : absl::StrJoin(words, ", ");
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// With the moment itself, for whoever compares it with another log.
std::string Moment(std::int64_t unix_ms, std::int64_t now_unix_ms) {
  return unix_ms <= 0 ? "never" : absl::StrCat(AgoWord(unix_ms, now_unix_ms), " (", TimeWord(unix_ms), ")");
}

std::string ContestWord(const v1::NodeRecord& node, std::int64_t now_unix_ms) {
  if (node.contests() == 0) return "no";
  return absl::StrCat("yes, ", node.contests(), " times, last ", Moment(node.contested_unix_ms(), now_unix_ms),
                      ": one at ", OrDash(node.address()), ", one at ", OrDash(node.other_address()),
                      "; a stolen credential: `paritect node revoke`; a copied machine: join it anew");
}

std::string RevokedWord(const v1::NodeRecord& node, std::int64_t now_unix_ms) {
  return absl::StrCat("by ", node.revoked_by(), ", ", Moment(node.revoked_unix() * 1000, now_unix_ms),
                      node.revoked_reason().empty() ? "" : ": ", node.revoked_reason());
}

}  // namespace

OrderedJson NodeJson(const Products& products, const v1::NodeRow& row) {
  const v1::NodeRecord& node = row.node();
  OrderedJson json;
  json["node"] = node.name();
  json["role"] = AccessRoleWord(node.role());
  json["state"] = row.state();
  json["last_seen"] = TimeJson(node.last_seen_unix_ms());
  json["clock_offset_ms"] = node.clock_offset_known() ? OrderedJson(node.clock_offset_ms()) : OrderedJson(nullptr);
  json["spooled_records"] = node.has_hello() ? OrderedJson(Spooled(node)) : OrderedJson(nullptr);
  json["spooled_bytes"] = node.has_spool() ? OrderedJson(node.spool().bytes()) : OrderedJson(nullptr);
  json["program"] = node.has_hello() ? OrderedJson(node.hello().program()) : OrderedJson(nullptr);
  json["machine"] = node.has_hello() ? OrderedJson(node.hello().machine()) : OrderedJson(nullptr);
  json["address"] = node.address().empty() ? OrderedJson(nullptr) : OrderedJson(node.address());
  json["joined"] = TimeJson(node.joined_unix() * 1000);
  json["certificate_expires"] = TimeJson(node.certificate_expires_unix() * 1000);
  json["revoked"] = TimeJson(node.revoked_unix() * 1000);
  json["contests"] = node.contests();
  if (node.contests() > 0) {
    json["contested"] = TimeJson(node.contested_unix_ms());
    json["other_address"] = node.other_address();
  }
  if (!node.problem().empty()) {
    json["problem"] = node.problem();
    json["problem_at"] = TimeJson(node.problem_unix_ms());
  }
  if (!node.task().task_id().empty()) {
    json["task"] = {{"id", node.task().task_id()},
                    {"stage", node.task().stage()},
                    {"bytes_done", node.task().bytes_done()},
                    {"bytes_total", node.task().bytes_total()}};
  }
  for (const auto& [what, count] : DevicesOf(node)) {
    const ProductFamily* family = products.FamilyOfPciId(what);
    json["devices"].push_back({{"device", what},
                               {"product", family == nullptr ? OrderedJson(nullptr) : OrderedJson(family->name)},
                               {"count", count}});
  }
  if (node.hello().labels_size() > 0) json["labels"] = LabelsOf(node);
  return json;
}

void PrintNodeTable(std::ostream& out, const std::vector<v1::NodeRow>& rows, NodeColumns columns,
                    std::int64_t now_unix_ms, Language language) {
  const auto say = [language](const std::string& text) { return Localised(language, text); };
  const bool wide = columns == NodeColumns::kWide;
  TextTable table;
  std::vector<std::string> head = {"NODE",   "ROLE", "STATE", "LAST SEEN", "CLOCK", "SPOOL", "CERTIFICATE ENDS",
                                   "PROGRAM"};
  if (wide) head.insert(head.end(), {"ADDRESS", "MACHINE", "TASK", "LABELS", "PROBLEM"});
  table.Row(std::move(head));
  for (const v1::NodeRow& row : rows) {
    const v1::NodeRecord& node = row.node();
    std::vector<std::string> cells = {node.name(),
                                      std::string(AccessRoleWord(node.role())),
                                      say(StateWord(row)),
                                      say(AgoWord(node.last_seen_unix_ms(), now_unix_ms)),
                                      ClockWord(node),
                                      say(SpoolWord(node)),
                                      say(AgoWord(node.certificate_expires_unix() * 1000, now_unix_ms, "-")),
                                      OrDash(node.hello().program())};
    if (wide) {
      std::string address = OrDash(node.address());
      if (node.contests() > 0) absl::StrAppend(&address, " and ", OrDash(node.other_address()));
      cells.insert(cells.end(), {std::move(address), OrDash(node.hello().machine()), TaskWord(node.task()),
                                 LabelWord(node), OrDash(node.problem())});
    }
    table.Row(std::move(cells));
  }
  table.Print(out, language);
}

void PrintNode(std::ostream& out, const Products& products, const v1::NodeRow& row, std::int64_t now_unix_ms,
               Language language) {
  const v1::NodeRecord& node = row.node();
  std::vector<std::pair<std::string, std::string>> lines = {
      {"node", node.name()},
      {"role", std::string(AccessRoleWord(node.role()))},
      {"state", row.state()},
      {"last seen", Moment(node.last_seen_unix_ms(), now_unix_ms)},
      {"joined", Moment(node.joined_unix() * 1000, now_unix_ms)},
      {"certificate ends", Moment(node.certificate_expires_unix() * 1000, now_unix_ms)},
      {"certificate serial", OrDash(node.serial())}};
  if (node.revoked_unix() > 0) lines.emplace_back("revoked", RevokedWord(node, now_unix_ms));
  if (node.role() == v1::ACCESS_ROLE_AGENT) {
    std::vector<std::string> roots;
    for (const std::string& root : node.hello().roots()) roots.push_back(DisplayBytes(root));
    const std::vector<std::pair<std::string, std::string>> more = {
        {"address", OrDash(node.address())},
        {"two agents", ContestWord(node, now_unix_ms)},
        {"program", OrDash(node.hello().program())},
        {"machine", OrDash(node.hello().machine())},
        {"devices", DevicesWord(products, node)},
        {"labels", LabelWord(node)},
        {"roots", roots.empty() ? "-" : absl::StrJoin(roots, ", ")},
        {"clock", ClockWord(node)},
        {"spool", SpoolWord(node)},
        {"task", TaskWord(node.task())},
        {"last problem", node.problem().empty()
                             ? "-"
                             : absl::StrCat(node.problem(), ", ", Moment(node.problem_unix_ms(), now_unix_ms))}};
    lines.insert(lines.end(), more.begin(), more.end());
  }
  const std::string colon = language == Language::kChinese ? "：" : ":";
  for (const auto& [name, value] : lines) {
    // A node may be named like a word of ours.
    const std::string shown = name == "node" ? value : Localised(language, value);
    out << Pad(absl::StrCat(Localised(language, name), colon), 20) << TerminalSafe(shown) << "\n";
  }
}

}  // namespace paritect
