#include "server/operators.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "checks/waivers.h"
#include "common/date.h"
#include "common/digest.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "formats/audit_file.h"
#include "formats/bundle.h"
#include "report/json.h"
#include "report/signature.h"
#include "server/audits/stored_runs.h"
#include "server/bundle_reader.h"
#include "server/diagnosis.h"
#include "server/named_backup.h"
#include "server/recorded_runs.h"
#include "server/retention.h"
#include "storage/fleet_keys.h"
#include "storage/sqlite.h"

namespace paritect {
namespace {

constexpr int kLogPageMax = 5000;

std::string StateOf(const v1::NodeRecord& node, bool online, std::int64_t now_s) {
  if (node.state() == "revoked") return "revoked";
  if (node.state() == "issued") return "never";
  if (online) return "online";
  if (node.certificate_expires_unix() != 0 && node.certificate_expires_unix() < now_s) return "expired";
  if (node.role() != v1::ACCESS_ROLE_AGENT) return "active";  // a person holds no connection that could fall silent
  return node.last_seen_unix_ms() == 0 ? "never" : "silent";
}

constexpr std::size_t kPersonBytesMax = 200;
constexpr std::size_t kReasonBytesMax = 4000;

// It stands in reports for years: one line each, of a length that people write.
absl::Status CheckLine(absl::string_view text, absl::string_view name, std::size_t bytes_max) {
  if (absl::StripAsciiWhitespace(text).empty())
    return absl::InvalidArgumentError(absl::StrCat("`", name, "` is needed"));
  if (text.size() > bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("`", name, "`: ", text.size(), " bytes; at most ", bytes_max));
  }
  if (DisplayBytes(text) == text) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` holds characters that cannot be seen: ", DisplayBytes(text)));
}

// Of an attestation or a waiver: who, why, how long.
template <typename Answer>
absl::Status CheckAnswer(const Answer& answer) {
  PARITECT_RETURN_IF_ERROR(CheckLine(answer.by(), "by", kPersonBytesMax));
  PARITECT_RETURN_IF_ERROR(CheckLine(answer.reason(), "reason", kReasonBytesMax));
  if (IsDate(answer.until())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`until` must be a date like 2026-12-31, not '", DisplayBytes(answer.until().substr(0, 100)), "'"));
}

// A webhook's address may carry a password, and so may the text that states it.
void HideFromViewers(const std::string& by, v1::AuditDefinition& definition) {
  if (!absl::StartsWith(by, "viewer/")) return;
  definition.clear_source();
  if (!definition.webhook().empty()) definition.set_webhook("(set)");
}

v1::RunRow RowOf(const std::string& run, std::vector<v1::StoredBundle> bundles) {
  v1::RunRow row;
  row.set_run(run);
  row.set_bundles(static_cast<int>(bundles.size()));
  std::set<std::string> nodes;
  std::set<std::string> sources;
  for (const v1::StoredBundle& bundle : bundles) {
    row.set_newest_unix_ms(std::max(row.newest_unix_ms(), bundle.collected_at_unix_ms()));
    nodes.insert(bundle.plan().node());
    sources.insert(bundle.source());
  }
  row.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  row.mutable_sources()->Assign(sources.begin(), sources.end());
  const RecordedRun recorded = SortBundles(std::move(bundles), {});
  row.set_replaced(static_cast<int>(recorded.replaced.size()));
  std::set<std::string> strange;
  for (const v1::StoredBundle& bundle : recorded.left_out) strange.insert(bundle.plan().node());
  row.mutable_strange_nodes()->Assign(strange.begin(), strange.end());
  return row;
}

}  // namespace

v1::AuditRun ForWatcher(v1::AuditRun run) {
  run.clear_definition();
  run.clear_baseline_bundles();
  run.clear_migrated_bundles();
  for (v1::NodeTask& task : *run.mutable_tasks()) task.clear_questions();
  return run;
}

absl::StatusOr<v1::CreateTokenResponse> OperatorCalls::CreateToken(const v1::CreateTokenRequest& request,
                                                                   const std::string& by) {
  return parts_.enrolment.CreateToken(request, by);
}

absl::StatusOr<v1::ListTokensResponse> OperatorCalls::ListTokens(const v1::ListTokensRequest&, const std::string&) {
  return parts_.enrolment.ListTokens();
}

absl::StatusOr<v1::RevokeTokenResponse> OperatorCalls::RevokeToken(const v1::RevokeTokenRequest& request,
                                                                   const std::string&) {
  return parts_.enrolment.RevokeToken(request.id());
}

absl::StatusOr<v1::ListNodesResponse> OperatorCalls::ListNodes(const v1::ListNodesRequest&, const std::string&) {
  std::set<std::string> online;
  for (const KnownNode& node : parts_.fleet.Agents()) {
    if (node.online) online.insert(node.name);
  }
  v1::ListNodesResponse response;
  for (v1::NodeRecord& node : parts_.fleet.Holders()) {
    v1::NodeRow& row = *response.add_nodes();
    const bool is_online = node.role() == v1::ACCESS_ROLE_AGENT && online.count(node.name()) > 0;
    row.set_state(StateOf(node, is_online, parts_.clock() / 1000));
    *row.mutable_node() = std::move(node);
  }
  return response;
}

absl::StatusOr<v1::RevokeNodeResponse> OperatorCalls::RevokeNode(const v1::RevokeNodeRequest& request,
                                                                 const std::string& by) {
  if (by.substr(by.find('/') + 1) == request.name()) {
    return absl::InvalidArgumentError("that is the credential of this very call; revoke it with another admin's");
  }
  PARITECT_ASSIGN_OR_RETURN(const WriteSet set,
                            parts_.fleet.PrepareRevocation(request.name(), by, request.forget(), request.reason()));
  PARITECT_RETURN_IF_ERROR(parts_.commit(set));
  parts_.fleet.Revoked(set, request.name());
  v1::RevokeNodeResponse response;
  response.set_revoked(static_cast<int>(set.documents.size()));
  return response;
}

absl::StatusOr<v1::CreateAuditResponse> OperatorCalls::CreateAudit(const v1::CreateAuditRequest& request,
                                                                   const std::string& by) {
  PARITECT_ASSIGN_OR_RETURN(const Audits::Created created,
                            parts_.audits.Create(request.text(), request.file(), request.replace(), by));
  v1::CreateAuditResponse response;
  response.set_name(created.name);
  response.set_replaced(created.replaced);
  return response;
}

absl::StatusOr<v1::ListAuditsResponse> OperatorCalls::ListAudits(const v1::ListAuditsRequest&, const std::string& by) {
  v1::ListAuditsResponse response;
  for (v1::AuditDefinition& definition : parts_.audits.Definitions()) {
    v1::AuditRow& row = *response.add_audits();
    definition.clear_redaction_key();
    HideFromViewers(by, definition);
    auto last = parts_.audits.FindRun(definition.name(), 0);
    if (last.ok()) {
      *row.mutable_last_run() = *std::move(last);
      row.mutable_last_run()->clear_definition();
      row.mutable_last_run()->clear_baseline_bundles();
      row.mutable_last_run()->clear_migrated_bundles();
    }
    *row.mutable_definition() = std::move(definition);
  }
  return response;
}

absl::StatusOr<v1::RunAuditResponse> OperatorCalls::RunAudit(const v1::RunAuditRequest& request,
                                                             const std::string& by) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t number,
                            parts_.audits.Start(request.name(), by, request.timeout_seconds() * 1000));
  v1::RunAuditResponse response;
  response.set_number(number);
  return response;
}

absl::StatusOr<v1::CancelAuditResponse> OperatorCalls::CancelAudit(const v1::CancelAuditRequest& request,
                                                                   const std::string&) {
  PARITECT_RETURN_IF_ERROR(parts_.audits.Cancel(request.name(), request.number()));
  return v1::CancelAuditResponse();
}

// When, where and by what it was judged, and the server's word for all of it.
void OperatorCalls::Vouch(v1::GetReportResponse& response) const {
  v1::ReportMeta& meta = *response.mutable_meta();
  meta.set_at_unix_ms(response.run().ended_unix_ms());
  meta.set_host(parts_.host_name);
  meta.set_version(std::string(kProgramVersion));
  meta.set_audit(response.run().audit());
  meta.set_run(response.run().number());
  if (parts_.report_key == nullptr) return;
  const auto signature =
      parts_.report_key->Sign(CanonicalJson(ReportToJson(response.report(), {.meta = &response.meta()})));
  if (!signature.ok()) return;  // then it says so by having none
  response.mutable_signature()->set_public_key(parts_.report_key->public_key());
  response.mutable_signature()->set_value(*signature);
}

absl::StatusOr<v1::GetReportKeyResponse> OperatorCalls::GetReportKey(const v1::GetReportKeyRequest&,
                                                                     const std::string&) {
  if (parts_.report_key == nullptr) return absl::FailedPreconditionError("this server signs no reports");
  v1::GetReportKeyResponse response;
  response.set_public_key(parts_.report_key->public_key());
  return response;
}

absl::StatusOr<v1::CreateLoginResponse> OperatorCalls::CreateLogin(const v1::CreateLoginRequest&, const std::string&) {
  return absl::UnauthenticatedError("a login is made for the holder of a certificate");
}

absl::StatusOr<v1::CreateLoginResponse> OperatorCalls::CreateLogin(const v1::CreateLoginRequest& request,
                                                                   LoginHolder holder) {
  const std::string page = parts_.page ? parts_.page() : "";
  if (parts_.logins == nullptr || page.empty()) {
    return absl::FailedPreconditionError("this server serves no page: start it with --web HOST:PORT");
  }
  PARITECT_ASSIGN_OR_RETURN(const Login login, parts_.logins->NewToken(std::move(holder), request.ttl_seconds()));
  v1::CreateLoginResponse response;
  response.set_token(login.secret);
  response.set_expires_unix(login.expires_unix);
  response.set_page(page);
  response.set_certificate_sha256(parts_.certificate_sha256);
  return response;
}

absl::StatusOr<v1::GetReportResponse> OperatorCalls::GetReport(const v1::GetReportRequest& request,
                                                               const std::string& by) {
  v1::GetReportResponse response;
  std::int64_t number = request.number();
  if (number == 0) {
    // The last run may be under way: then the last report is that of the run before.
    PARITECT_ASSIGN_OR_RETURN(const std::vector<v1::AuditRun> runs, parts_.audits.Runs(request.name()));
    for (const v1::AuditRun& run : runs) {
      if (run.state() == v1::AUDIT_RUN_STATE_DONE) number = run.number();
    }
  }
  PARITECT_ASSIGN_OR_RETURN(*response.mutable_run(), parts_.audits.FindRun(request.name(), number));
  PARITECT_ASSIGN_OR_RETURN(*response.mutable_report(),
                            parts_.audits.FindReport(request.name(), response.run().number()));
  *response.mutable_pictures() = ReadStoredPictures(parts_.store, response.run());
  Vouch(response);
  response.mutable_run()->mutable_definition()->clear_redaction_key();
  HideFromViewers(by, *response.mutable_run()->mutable_definition());
  response.mutable_run()->clear_baseline_bundles();
  response.mutable_run()->clear_migrated_bundles();
  return response;
}

absl::StatusOr<v1::ListAuditRunsResponse> OperatorCalls::ListAuditRuns(const v1::ListAuditRunsRequest& request,
                                                                       const std::string&) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::AuditRun> runs, parts_.audits.Runs(request.name()));
  v1::ListAuditRunsResponse response;
  for (v1::AuditRun& run : runs) {
    run.clear_definition();
    run.clear_tasks();
    run.clear_baseline_bundles();
    run.clear_migrated_bundles();
    *response.add_runs() = std::move(run);
  }
  return response;
}

absl::StatusOr<v1::ListRunsResponse> OperatorCalls::ListRuns(const v1::ListRunsRequest& request, const std::string&) {
  std::map<std::string, std::vector<v1::StoredBundle>> runs;
  const auto add = [&runs](v1::StoredBundle bundle) {
    // Not needed to tell what counts, and most of a bundle.
    for (v1::Piece& piece : *bundle.mutable_pieces()) piece.clear_part_sha256();
    std::vector<v1::StoredBundle>& of_run = runs[bundle.plan().run()];
    of_run.push_back(std::move(bundle));
  };
  if (request.run().empty()) {
    PARITECT_RETURN_IF_ERROR(parts_.store.Scan("bundle", "", "", [&](absl::string_view, absl::string_view value) {
      v1::StoredBundle bundle;
      if (bundle.ParseFromArray(value.data(), static_cast<int>(value.size()))) add(std::move(bundle));
      return true;
    }));
  } else {
    PARITECT_RETURN_IF_ERROR(
        ScanRun(parts_.store, request.run(), [&](absl::string_view, const v1::StoredBundle* bundle) {
          if (bundle != nullptr) add(*bundle);
        }));
  }
  if (!request.run().empty() && runs.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no recorded run '", request.run(), "' (`paritect runs ls` lists all)"));
  }
  v1::ListRunsResponse response;
  for (auto& [name, bundles] : runs) *response.add_runs() = RowOf(name, std::move(bundles));
  return response;
}

absl::StatusOr<v1::AttestResponse> OperatorCalls::Attest(const v1::AttestRequest& request, const std::string& by) {
  v1::StoredAttestation one = request.attestation();
  if (parts_.rules.catalogue.FindCheck(one.check()) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no check '", one.check(), "'"));
  }
  PARITECT_RETURN_IF_ERROR(CheckAnswer(one));
  PARITECT_RETURN_IF_ERROR(RequireAudit(one.audit()));
  one.set_created_by(by);
  one.set_created_unix(parts_.clock() / 1000);
  WriteSet set;
  set.documents.push_back({"attestation", AttestationKey(one.audit(), one.check()), one.SerializeAsString(), {}});
  PARITECT_RETURN_IF_ERROR(parts_.commit(std::move(set)));
  return v1::AttestResponse();
}

absl::Status OperatorCalls::RequireAudit(const std::string& name) {
  for (const v1::AuditDefinition& definition : parts_.audits.Definitions()) {
    if (definition.name() == name) return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("there is no audit '", name, "' (`paritect audit ls` lists all)"));
}

absl::StatusOr<v1::AddWaiverResponse> OperatorCalls::AddWaiver(const v1::AddWaiverRequest& request,
                                                               const std::string& by) {
  absl::MutexLock lock(&numbers_);
  v1::StoredWaiver waiver = request.waiver();
  if (parts_.rules.catalogue.FindCheck(waiver.check()) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no check '", waiver.check(), "'"));
  }
  if (waiver.kind().empty() && waiver.subject().empty()) {
    return absl::InvalidArgumentError("a waiver needs `kind` or `subject`: it accepts a finding, not a check");
  }
  if (!waiver.kind().empty() && !IsKind(parts_.rules.messages, waiver.kind())) {
    const std::string nearest = NearestWord(waiver.kind(), KindsOf(parts_.rules.messages));
    const std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
    return absl::InvalidArgumentError(
        absl::StrCat("there is no finding of kind '", DisplayBytes(waiver.kind()), "'", hint));
  }
  PARITECT_RETURN_IF_ERROR(CheckAnswer(waiver));
  if (!waiver.audit().empty()) PARITECT_RETURN_IF_ERROR(RequireAudit(waiver.audit()));
  std::int64_t last = 0;
  PARITECT_RETURN_IF_ERROR(parts_.store.Scan("waiver", "", "", [&](absl::string_view, absl::string_view value) {
    v1::StoredWaiver known;
    if (known.ParseFromArray(value.data(), static_cast<int>(value.size()))) last = std::max(last, known.number());
    return true;
  }));
  waiver.set_number(last + 1);
  waiver.set_created_by(by);
  waiver.set_created_unix(parts_.clock() / 1000);
  WriteSet set;
  set.documents.push_back({"waiver", absl::StrFormat("%010d", waiver.number()), waiver.SerializeAsString(), {}});
  PARITECT_RETURN_IF_ERROR(parts_.commit(std::move(set)));
  v1::AddWaiverResponse response;
  response.set_number(waiver.number());
  return response;
}

absl::StatusOr<v1::ListWaiversResponse> OperatorCalls::ListWaivers(const v1::ListWaiversRequest&, const std::string&) {
  v1::ListWaiversResponse response;
  PARITECT_RETURN_IF_ERROR(parts_.store.Scan("waiver", "", "", [&](absl::string_view, absl::string_view value) {
    if (!response.add_waivers()->ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      response.mutable_waivers()->RemoveLast();
    }
    return true;
  }));
  PARITECT_RETURN_IF_ERROR(parts_.store.Scan("attestation", "", "", [&](absl::string_view, absl::string_view value) {
    if (!response.add_attestations()->ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      response.mutable_attestations()->RemoveLast();
    }
    return true;
  }));
  return response;
}

absl::StatusOr<v1::ReadLogResponse> OperatorCalls::ReadLog(const v1::ReadLogRequest& request, const std::string&) {
  const int limit = request.limit() > 0 ? std::min(request.limit(), kLogPageMax) : kLogPageMax;
  // Entries are written behind the calls that they tell of: whoever reads finds what was answered before. On a full
  // disk what is there is read all the same.
  parts_.commit(WriteSet()).IgnoreError();
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::AuditLogEntry> entries,
                            parts_.store.ReadLog(std::max<std::int64_t>(1, request.from()), limit));
  v1::ReadLogResponse response;
  for (v1::AuditLogEntry& entry : entries) *response.add_entries() = std::move(entry);
  PARITECT_ASSIGN_OR_RETURN(const FleetStoreStats stats, parts_.store.Stats());
  response.set_last_number(stats.log_entries);
  return response;
}

absl::StatusOr<v1::GetMetricsResponse> OperatorCalls::GetMetrics(const v1::GetMetricsRequest&, const std::string&) {
  v1::GetMetricsResponse response;
  response.set_text(parts_.metrics());
  return response;
}

absl::StatusOr<v1::ImportResponse> OperatorCalls::Import(absl::string_view file, absl::string_view bytes,
                                                         const std::string& by) {
  auto parsed = ParseBundle(bytes);
  if (!parsed.ok()) return Annotate(parsed.status(), file);
  v1::Bundle& bundle = *parsed;
  if (!IsAuditName(bundle.plan().run()) || !IsAuditName(bundle.plan().node())) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": run and node of a bundle must be plain names (letters, digits, '.', '_', '-') to be kept here"));
  }
  WriteSet set;
  PARITECT_ASSIGN_OR_RETURN(v1::StoredBundle stored, StoreBundle(bundle, set));
  stored.set_source(absl::StrCat("import of ", file, " by ", by));
  stored.set_origin(v1::BUNDLE_ORIGIN_IMPORT);
  stored.set_stored_unix_ms(parts_.clock());
  const std::string key = AddBundleDocument(stored, set);
  v1::ImportResponse response;
  response.set_run(bundle.plan().run());
  response.set_node(bundle.plan().node());
  response.set_pieces(stored.pieces_size());
  PARITECT_ASSIGN_OR_RETURN(const auto known, parts_.store.Get("bundle", key));
  // One that a node recorded by itself becomes an operator's: that is what makes the node one of the run's.
  v1::StoredBundle before;
  const bool own = known && before.ParseFromString(*known) && before.origin() == v1::BUNDLE_ORIGIN_NODE;
  response.set_known(known.has_value() && !own);
  if (response.known()) return response;
  PARITECT_RETURN_IF_ERROR(parts_.commit(std::move(set)));
  return response;
}

absl::StatusOr<std::vector<std::string>> OperatorCalls::GetEvidence(const v1::GetEvidenceRequest& request) {
  std::vector<v1::Bundle> bundles;
  if (!request.run().empty()) {
    PARITECT_ASSIGN_OR_RETURN(const RecordedRun recorded, ReadRecordedRun(parts_.store, request.run(), {}));
    if (!recorded.damaged.empty()) return absl::DataLossError(recorded.damaged[0]);
    for (const v1::StoredBundle& stored : recorded.counted) {
      PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadBundle(parts_.store, stored));
      bundles.push_back(std::move(bundle));
    }
  } else {
    if (request.side() != "baseline" && request.side() != "migrated") {
      return absl::InvalidArgumentError("side must be baseline or migrated");
    }
    const Side side = request.side() == "baseline" ? Side::kBaseline : Side::kMigrated;
    PARITECT_ASSIGN_OR_RETURN(bundles, parts_.audits.Evidence(request.audit(), 0, side));
  }
  std::vector<std::string> out;
  for (const v1::Bundle& bundle : bundles) {
    PARITECT_ASSIGN_OR_RETURN(std::string bytes, SerializeBundle(bundle));
    out.push_back(std::move(bytes));
  }
  return out;
}

absl::StatusOr<v1::BackupResponse> OperatorCalls::Backup(const v1::BackupRequest& request, const std::string&) {
  return MakeNamedBackup(parts_.store, parts_.backup_folder, request.name());
}

absl::StatusOr<v1::DiagnosisResponse> OperatorCalls::Diagnose(const v1::DiagnosisRequest& request, const std::string&) {
  DiagnosisInput input;
  input.nodes = parts_.fleet.Agents();
  input.audits = parts_.audits.Definitions();
  input.writing = parts_.writing();
  input.free_bytes = parts_.free_bytes();
  input.now_unix_ms = parts_.clock();
  input.start_unix_ms = parts_.start_unix_ms;
  input.certificate_expires_unix = parts_.server_certificate_expires_unix;
  input.program = parts_.program;
  v1::DiagnosisResponse response = Diagnosis(parts_.store, std::move(input));
  if (request.deep()) {
    if (!deep_.TryLock()) return absl::ResourceExhaustedError("the database is being read for another call; wait");
    const absl::Cleanup unlock = [this] { deep_.Unlock(); };
    AddIntegrity(parts_.store.Verify(parts_.stopping), response);
  }
  return response;
}

// --- what operators take away: each is a line of the log of calls, and none takes evidence that another audit judged.

absl::StatusOr<v1::StopAuditResponse> OperatorCalls::StopAudit(const v1::StopAuditRequest& request,
                                                               const std::string&) {
  PARITECT_RETURN_IF_ERROR(RequireAudit(request.name()));
  const bool both = !request.schedule() && !request.live();
  v1::StopAuditResponse response;
  if (both || request.schedule()) {
    PARITECT_ASSIGN_OR_RETURN(const bool stopped, parts_.audits.StopSchedule(request.name()));
    response.set_schedule(stopped);
  }
  if (both || request.live()) response.set_live(parts_.live.End(request.name(), "stopped").ok());
  return response;
}

absl::StatusOr<v1::RemoveAuditResponse> OperatorCalls::RemoveAudit(const v1::RemoveAuditRequest& request,
                                                                   const std::string&) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t runs, parts_.audits.Remove(request.name()));
  v1::RemoveAuditResponse response;
  response.set_runs(runs);
  return response;
}

absl::StatusOr<v1::RemoveRunResponse> OperatorCalls::RemoveRun(const v1::RemoveRunRequest& request,
                                                               const std::string&) {
  if (request.run().empty()) return absl::InvalidArgumentError("which run? (`paritect runs ls` lists all)");
  for (const v1::AuditDefinition& definition : parts_.audits.Definitions()) {
    for (const v1::AuditSide* side : {&definition.baseline(), &definition.migrated()}) {
      for (const std::string& run : side->runs()) {
        if (run != request.run()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("run '", run, "' is a side of audit '", definition.name(), "'; remove that audit first"));
      }
    }
  }
  PARITECT_ASSIGN_OR_RETURN(const RetentionResult dropped, DropRun(parts_.store, parts_.commit, request.run()));
  v1::RemoveRunResponse response;
  response.set_bundles(dropped.bundles);
  return response;
}

absl::StatusOr<v1::RemoveAnswerResponse> OperatorCalls::RemoveAnswer(const v1::RemoveAnswerRequest& request,
                                                                     const std::string&) {
  const bool waiver = request.waiver() > 0;
  const std::string collection = waiver ? "waiver" : "attestation";
  const std::string key =
      waiver ? absl::StrFormat("%010d", request.waiver()) : AttestationKey(request.audit(), request.check());
  PARITECT_ASSIGN_OR_RETURN(const auto known, parts_.store.Get(collection, key));
  if (!known) {
    return absl::NotFoundError(waiver ? absl::StrCat("there is no waiver ", request.waiver(), " (`paritect waive ls`)")
                                      : absl::StrCat("audit '", request.audit(), "' has no attestation of ",
                                                     request.check(), " (`paritect waive ls`)"));
  }
  WriteSet set;
  set.documents.push_back({collection, key, std::nullopt, {}});
  PARITECT_RETURN_IF_ERROR(parts_.commit(std::move(set)));
  return v1::RemoveAnswerResponse();
}

}  // namespace paritect
