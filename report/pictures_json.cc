#include "report/pictures_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/digest.h"

namespace paritect {
namespace {

// A gap in a curve is null: JSON has no NaN.
template <typename Numbers>
OrderedJson Series(const Numbers& values) {
  OrderedJson list = OrderedJson::array();
  for (const double value : values) {
    if (!std::isfinite(value)) {
      list.push_back(nullptr);
    } else if (std::abs(value) < 9e15 && value == std::trunc(value)) {
      list.push_back(static_cast<std::int64_t>(value));
    } else {
      list.push_back(value);
    }
  }
  return list;
}

template <typename Ranks>
OrderedJson Integers(const Ranks& ranks) {
  return std::vector<std::int32_t>(ranks.begin(), ranks.end());
}

OrderedJson TreeToJson(const v1::TreePicture& tree) {
  OrderedJson json = {{"dataset", tree.dataset()},
                      {"baseline_where", tree.baseline_where()},
                      {"migrated_where", tree.migrated_where()},
                      {"folders_total", tree.folders_total()},
                      {"files_total", tree.files_total()},
                      {"folders", OrderedJson::array()},
                      {"files", OrderedJson::array()}};
  for (const v1::FolderCounts& f : tree.folders()) {
    json["folders"].push_back({{"path", f.path()},
                               {"same", f.same()},
                               {"different", f.different()},
                               {"only_baseline", f.only_baseline()},
                               {"only_migrated", f.only_migrated()},
                               {"unknown", f.unknown()},
                               {"baseline_bytes", f.baseline_bytes()},
                               {"migrated_bytes", f.migrated_bytes()}});
  }
  for (const v1::FileDifferenceRow& f : tree.files()) {
    OrderedJson row = {{"path", f.path()},
                       {"state", f.state()},
                       {"baseline_bytes", f.baseline_bytes()},
                       {"migrated_bytes", f.migrated_bytes()}};
    if (!f.other().empty()) row["other"] = f.other();
    json["files"].push_back(std::move(row));
  }
  for (const char* const list : {"folders", "files"}) json[list] = PackRows(std::move(json[list]));
  return json;
}

OrderedJson MapToJson(const v1::ShardMap& map) {
  OrderedJson json = {{"dataset", map.dataset()},
                      {"baseline_ranks", map.baseline_ranks()},
                      {"migrated_ranks", map.migrated_ranks()},
                      {"rows_total", map.rows_total()},
                      {"rows", OrderedJson::array()},
                      {"counts", OrderedJson::object()}};
  if (map.has_epoch()) json["epoch"] = map.epoch();
  const std::map<std::string, std::int64_t> sorted(map.counts().begin(), map.counts().end());
  for (const auto& [mark, count] : sorted) json["counts"][mark] = count;
  for (const v1::ShardMap::Row& row : map.rows()) {
    json["rows"].push_back({{"file", row.file()},
                            {"mark", row.mark()},
                            {"baseline", Integers(row.baseline())},
                            {"migrated", Integers(row.migrated())}});
  }
  json["rows"] = PackRows(std::move(json["rows"]));
  return json;
}

OrderedJson UpdateToJson(const v1::UpdatePicture& update) {
  OrderedJson json = {{"side", update.side()},
                      {"run", update.run()},
                      {"from_step", update.from_step()},
                      {"to_step", update.to_step()},
                      {"layers_total", update.layers_total()},
                      {"layers", OrderedJson::array()}};
  for (const v1::UpdatePicture::Layer& layer : update.layers()) {
    OrderedJson row = {{"name", layer.name()}, {"movement", layer.movement()}, {"elements", layer.elements()}};
    if (layer.has_rms() && std::isfinite(layer.rms())) row["rms"] = layer.rms();
    json["layers"].push_back(std::move(row));
  }
  json["layers"] = PackRows(std::move(json["layers"]));
  return json;
}

OrderedJson EvidenceToJson(const v1::EvidenceRow& row) {
  OrderedJson json = {{"side", row.side()},       {"run", row.run()},
                      {"node", row.node()},       {"kind", row.kind()},
                      {"source", row.source()},   {"outcome", row.outcome()},
                      {"format", row.format()},   {"entries", row.entries()},
                      {"by", row.collected_by()}, {"at", TimeText(row.collected_at_unix_ms())}};
  if (row.has_rank()) json["rank"] = row.rank();
  if (!row.sha256().empty()) json["sha256"] = ToHex(row.sha256());
  if (row.has_problem()) json["problem"] = TextToJson(row.problem());
  return json;
}

template <typename List, typename ToJson>
OrderedJson ListOf(const List& list, ToJson to_json) {
  OrderedJson json = OrderedJson::array();
  for (const auto& one : list) json.push_back(to_json(one));
  return json;
}

}  // namespace

OrderedJson CurveToJson(const v1::CurvePicture& curve) {
  OrderedJson json = {{"metric", curve.metric()},
                      {"baseline_run", curve.baseline_run()},
                      {"migrated_run", curve.migrated_run()},
                      {"engine", curve.engine()},
                      {"axis", curve.axis()},
                      {"points_total", curve.points_total()},
                      {"limit", curve.limit()},
                      {"paired", curve.paired()},
                      {"at", Series(curve.at())},
                      {"baseline", Series(curve.baseline())},
                      {"migrated", Series(curve.migrated())},
                      {"difference_at", Series(curve.difference_at())},
                      {"difference", Series(curve.difference())},
                      {"baseline_overflows", Series(curve.baseline_overflows())},
                      {"migrated_overflows", Series(curve.migrated_overflows())},
                      {"baseline_nonfinite", Series(curve.baseline_nonfinite())},
                      {"migrated_nonfinite", Series(curve.migrated_nonfinite())},
                      {"first_divergent", nullptr}};
  if (curve.has_first_divergent()) json["first_divergent"] = curve.first_divergent();
  return json;
}

OrderedJson PicturesToJson(const v1::ReportPictures& pictures) {
  return {{"curves", ListOf(pictures.curves(), CurveToJson)},
          {"trees", ListOf(pictures.trees(), TreeToJson)},
          {"shards", ListOf(pictures.shards(), MapToJson)},
          {"updates", ListOf(pictures.updates(), UpdateToJson)},
          {"evidence", PackRows(ListOf(pictures.evidence(), EvidenceToJson))},
          {"evidence_total", pictures.evidence_total()}};
}

}  // namespace paritect
