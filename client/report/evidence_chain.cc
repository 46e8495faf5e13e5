#include "client/report/evidence_chain.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "checks/explaining/looked_at.h"
#include "common/utf8.h"

namespace paritect {
namespace {

std::string KindWord(v1::EvidenceKind kind) {
  std::string name = v1::EvidenceKind_Name(kind);
  if (absl::StartsWith(name, "EVIDENCE_KIND_")) name = name.substr(14);
  return absl::AsciiStrToLower(name);
}

v1::Text FilesContent(const Rules& rules, const EvidenceSet& all, const v1::FileList& list) {
  std::uint64_t bytes = 0;
  int hashed = 0;
  const auto& files = all.FilesOf(list);
  for (const v1::FileEntry& file : files) {
    bytes += file.size_bytes();
    hashed += file.md5().empty() ? 0 : 1;
  }
  return rules.messages.Say("content_files", {{"format", list.format()},
                                              {"files", absl::StrCat(files.size())},
                                              {"bytes", absl::StrCat(bytes)},
                                              {"hashed", absl::StrCat(hashed)}});
}

v1::Text LogContent(const Rules& rules, const v1::RunLog& log) {
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (const v1::StepRecord& record : log.records()) {
    if (first == 0 || record.step() < first) first = record.step();
    last = std::max(last, record.step());
  }
  return rules.messages.Say("content_log", {{"format", log.format()},
                                            {"records", absl::StrCat(log.records_size())},
                                            {"first", absl::StrCat(first)},
                                            {"last", absl::StrCat(last)},
                                            {"unparsed", absl::StrCat(log.unparsed_total())}});
}

v1::Text ContentOf(const Rules& rules, const EvidenceSet& all, const v1::Evidence& evidence) {
  if (evidence.outcome() != v1::OUTCOME_COLLECTED) {
    MessageArgs args;
    for (const auto& [name, value] : evidence.problem().args()) args.emplace_back(name, DisplayBytes(value));
    return rules.messages.Say(evidence.problem().id(), args);
  }
  if (evidence.has_files()) return FilesContent(rules, all, evidence.files());
  if (evidence.has_run_log()) return LogContent(rules, evidence.run_log());
  if (evidence.has_listing()) {
    return rules.messages.Say("content_listing", {{"names", absl::StrCat(evidence.listing().names_size())}});
  }
  if (evidence.has_shards()) {
    return rules.messages.Say("content_shards", {{"format", evidence.shards().format()},
                                                 {"items", absl::StrCat(evidence.shards().items_size())}});
  }
  if (evidence.has_settings()) {
    return rules.messages.Say("content_settings", {{"format", evidence.settings().format()},
                                                   {"count", absl::StrCat(evidence.settings().settings_size())}});
  }
  return v1::Text();
}

std::string Rfc3339(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts = {};
  if (unix_ms <= 0 || gmtime_r(&seconds, &parts) == nullptr) return "";
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

EvidencePiece Describe(const Rules& rules, const EvidenceSet& all, Side side, const v1::Bundle& bundle,
                       const v1::Evidence& evidence) {
  EvidencePiece piece;
  piece.side = std::string(SideName(side));
  piece.run = DisplayBytes(bundle.plan().run());
  piece.node = DisplayBytes(bundle.plan().node());
  if (evidence.has_rank()) piece.rank = evidence.rank();
  piece.kind = KindWord(evidence.kind());
  piece.source = DisplayBytes(evidence.source());
  piece.outcome = evidence.outcome() == v1::OUTCOME_COLLECTED ? "collected"
                  : evidence.outcome() == v1::OUTCOME_ABSENT  ? "absent"
                                                              : "failed";
  piece.content = ContentOf(rules, all, evidence);
  piece.collected_at = Rfc3339(bundle.collected_at_unix_ms());
  piece.collected_by = DisplayBytes(bundle.collected_by());
  return piece;
}

}  // namespace

std::vector<EvidencePiece> EvidenceOf(const EvidenceSet& evidence, const Rules& rules, const CatalogueCheck& check,
                                      const std::string& node) {
  std::vector<EvidencePiece> pieces;
  for (Side side : kBothSides) {
    for (const v1::Bundle& bundle : evidence.bundles(side)) {
      if (!node.empty() && bundle.plan().node() != node) continue;
      for (const v1::Evidence& one : bundle.evidence()) {
        if (IsLookedAt(check, side, one.kind())) pieces.push_back(Describe(rules, evidence, side, bundle, one));
      }
    }
  }
  return pieces;
}

std::vector<std::string> NodesOf(const EvidenceSet& evidence) {
  std::set<std::string> nodes;
  for (Side side : kBothSides) {
    for (const v1::Bundle& bundle : evidence.bundles(side)) nodes.insert(bundle.plan().node());
  }
  return std::vector<std::string>(nodes.begin(), nodes.end());
}

OrderedJson PieceToJson(const EvidencePiece& piece) {
  OrderedJson json;
  json["side"] = piece.side;
  json["run"] = piece.run;
  json["node"] = piece.node;
  json["rank"] = nullptr;
  if (piece.rank >= 0) json["rank"] = piece.rank;
  json["kind"] = piece.kind;
  json["source"] = piece.source;
  json["outcome"] = piece.outcome;
  json["content"] = {{"en", piece.content.en()}, {"zh", piece.content.zh()}};
  json["collected_at"] = piece.collected_at;
  json["collected_by"] = piece.collected_by;
  return json;
}

}  // namespace paritect
