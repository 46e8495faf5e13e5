#include "server/transport/operators_service.h"

#include <malloc.h>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "formats/bundle.h"
#include "server/holder_record.h"

namespace paritect {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr std::size_t kImportBytesMax = 1 << 30;  // held in memory; a node with a million files makes a tenth of it
constexpr std::size_t kFileNameBytesMax = 1000;
constexpr std::int64_t kWatchEveryMs = 250;

std::string MethodOf(absl::string_view name) {
  return absl::StrCat("/paritect.v1.Operators/", name);
}

bool IsOver(const v1::AuditRun& run) {
  return run.state() == v1::AUDIT_RUN_STATE_DONE || run.state() == v1::AUDIT_RUN_STATE_FAILED ||
         run.state() == v1::AUDIT_RUN_STATE_CANCELLED;
}

// What is no bundle, or too large for one, is refused before the rest of it is taken.
absl::Status TakeChunk(absl::string_view file, absl::string_view data, std::string& bytes) {
  if (bytes.size() + data.size() > kImportBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(file, ": larger than ", kImportBytesMax, " bytes"));
  }
  bytes.append(data.data(), data.size());
  const std::size_t known = std::min(bytes.size(), kBundleMagic.size());
  if (absl::string_view(bytes).substr(0, known) == kBundleMagic.substr(0, known)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, ": this is not an evidence bundle"));
}

// Of what the answer alone names: an audit by the name in its file, a token by what `token ls` calls it.
template <typename Response>
std::string SubjectOf(absl::string_view asked, const Response&) {
  return std::string(asked);
}
std::string SubjectOf(absl::string_view, const v1::CreateAuditResponse& made) {
  return made.name();
}
template <typename Response>
std::string DetailOf(absl::string_view, const Response&) {
  return "";
}
std::string DetailOf(absl::string_view asked, const v1::CreateAuditResponse&) {
  return std::string(asked);
}
std::string DetailOf(absl::string_view, const v1::CreateTokenResponse& made) {
  return absl::StrCat("token ", made.id());
}

template <typename Request, typename Response>
absl::StatusOr<Response> Ask(OperatorCalls& calls,
                             absl::StatusOr<Response> (OperatorCalls::*call)(const Request&, const std::string&),
                             const Request& request, const Caller& caller) {
  return (calls.*call)(request, caller.Actor());
}
absl::StatusOr<v1::CreateLoginResponse> Ask(
    OperatorCalls& calls,
    absl::StatusOr<v1::CreateLoginResponse> (OperatorCalls::*)(const v1::CreateLoginRequest&, const std::string&),
    const v1::CreateLoginRequest& request, const Caller& caller) {
  return calls.CreateLogin(request, caller.Holder());
}

}  // namespace

// A refusal is logged: who is refused often holds many calls.
absl::StatusOr<CallSlots::Slot> OperatorsService::TakeSlot(const Caller& caller, absl::string_view name) {
  const bool admin = caller.peer && caller.peer->identity.role == Role::kAdmin;
  auto slot = slots_.Take(caller.Actor(), admin, name == "Import");
  if (!slot.ok()) gate_.Log(caller, name, "", slot.status());
  return slot;
}

template <typename Request, typename Response>
grpc::Status OperatorsService::Serve(const grpc::ServerContext& context, absl::string_view name,
                                     absl::string_view subject, const Request& request, Response& response,
                                     absl::StatusOr<Response> (OperatorCalls::*call)(const Request&,
                                                                                     const std::string&)) {
  const auto caller = gate_.Admit(context, MethodOf(name));
  if (!caller.ok()) return ToGrpc(caller.status());
  const auto slot = TakeSlot(*caller, name);
  if (!slot.ok()) return ToGrpc(slot.status());
  auto result = Ask(calls_, call, request, *caller);
  if (!result.ok()) {
    gate_.Log(*caller, name, subject, result.status());
    return ToGrpc(result.status());
  }
  gate_.Log(*caller, name, SubjectOf(subject, *result), result.status(), DetailOf(subject, *result));
  response = *std::move(result);
  return grpc::Status::OK;
}

#define PARITECT_OPERATOR_CALL(Name, roles, subject)                                                \
  grpc::Status OperatorsService::Name(grpc::ServerContext* context, const v1::Name##Request* asked, \
                                      v1::Name##Response* response) {                               \
    [[maybe_unused]] const v1::Name##Request& request = *asked;                                     \
    return Serve(*context, #Name, subject, request, *response, &OperatorCalls::Name);               \
  }
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL

// Asked for every few seconds by a monitor: admitted, not logged.
grpc::Status OperatorsService::GetMetrics(grpc::ServerContext* context, const v1::GetMetricsRequest* request,
                                          v1::GetMetricsResponse* response) {
  const auto caller = gate_.Admit(*context, MethodOf("GetMetrics"));
  if (!caller.ok()) return ToGrpc(caller.status());
  const auto slot = TakeSlot(*caller, "GetMetrics");
  if (!slot.ok()) return ToGrpc(slot.status());
  auto result = calls_.GetMetrics(*request, caller->Actor());
  if (result.ok()) *response = *std::move(result);
  return ToGrpc(result.status());
}

grpc::Status OperatorsService::Diagnose(grpc::ServerContext* context, const v1::DiagnosisRequest* request,
                                        v1::DiagnosisResponse* response) {
  return Serve(*context, "Diagnose", "", *request, *response, &OperatorCalls::Diagnose);
}

grpc::Status OperatorsService::WatchAudit(grpc::ServerContext* context, const v1::WatchAuditRequest* request,
                                          grpc::ServerWriter<v1::AuditRun>* writer) {
  const auto caller = gate_.Admit(*context, MethodOf("WatchAudit"));
  if (!caller.ok()) return ToGrpc(caller.status());
  const auto slot = TakeSlot(*caller, "WatchAudit");
  if (!slot.ok()) return ToGrpc(slot.status());
  std::int64_t number = request->number();
  std::uint64_t revision = 0;
  std::uint64_t sent = 0;
  bool first = true;
  while (!context->IsCancelled()) {
    auto run = calls_.audits().WaitForChange(request->name(), number, revision, 1000);
    if (first) gate_.Log(*caller, "WatchAudit", request->name(), run.status());
    if (!run.ok()) return ToGrpc(run.status());
    number = run->number();
    const bool over = IsOver(*run);
    if (first || over || revision != sent) {
      if (!writer->Write(ForWatcher(*std::move(run)))) return grpc::Status::OK;
    }
    if (over) return grpc::Status::OK;
    first = false;
    sent = revision;
    if (const absl::Status still = gate_.StillGood(*caller); !still.ok()) return ToGrpc(still);
    std::this_thread::sleep_for(std::chrono::milliseconds(kWatchEveryMs));
  }
  return grpc::Status::CANCELLED;
}

grpc::Status OperatorsService::WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest* request,
                                           grpc::ServerWriter<v1::LiveEvent>* writer) {
  const auto caller = gate_.Admit(*context, MethodOf("WatchEvents"));
  if (!caller.ok()) return ToGrpc(caller.status());
  const auto slot = TakeSlot(*caller, "WatchEvents");
  if (!slot.ok()) return ToGrpc(slot.status());
  const absl::Status known = calls_.RequireAudit(request->name());
  gate_.Log(*caller, "WatchEvents", request->name(), known);
  if (!known.ok()) return ToGrpc(known);
  std::int64_t after = request->after();
  for (bool followed = true; !context->IsCancelled();) {
    const auto events = calls_.live().Events(request->name(), after, request->follow() ? 1000 : 0, followed);
    if (!events.ok()) return ToGrpc(events.status());
    for (const v1::LiveEvent& event : *events) {
      if (!writer->Write(event)) return grpc::Status::OK;
      after = event.number();
    }
    if (events->empty() && (!followed || !request->follow())) return grpc::Status::OK;
    if (const absl::Status still = gate_.StillGood(*caller); !still.ok()) return ToGrpc(still);
  }
  return grpc::Status::CANCELLED;
}

grpc::Status OperatorsService::Import(grpc::ServerContext* context, grpc::ServerReader<v1::ImportChunk>* reader,
                                      v1::ImportResponse* response) {
  const auto caller = gate_.Admit(*context, MethodOf("Import"), false);
  if (!caller.ok()) return ToGrpc(caller.status());
  const auto slot = TakeSlot(*caller, "Import");
  if (!slot.ok()) return ToGrpc(slot.status());
  std::string file;
  std::string bytes;
  v1::ImportChunk chunk;
  absl::Status status;
  while (reader->Read(&chunk)) {
    status = gate_.StillGood(*caller);
    if (!status.ok()) break;
    if (!chunk.file().empty()) file = chunk.file().substr(0, kFileNameBytesMax);
    status = TakeChunk(file, chunk.data(), bytes);
    if (!status.ok()) break;
  }
  if (status.ok()) {
    auto imported = calls_.Import(file, bytes, caller->Actor());
    status = imported.status();
    if (imported.ok()) *response = *std::move(imported);
  }
  gate_.Log(*caller, "Import", file, status, absl::StrCat(bytes.size(), " bytes, sha256 ", ToHex(Sha256(bytes))));
  // What it took to read goes back to the machine: the next import may be a week away.
  const bool large = bytes.size() >= kChunkBytes;
  std::string().swap(bytes);
  if (large) malloc_trim(0);
  return ToGrpc(status);
}

grpc::Status OperatorsService::GetEvidence(grpc::ServerContext* context, const v1::GetEvidenceRequest* request,
                                           grpc::ServerWriter<v1::EvidenceChunk>* writer) {
  const auto caller = gate_.Admit(*context, MethodOf("GetEvidence"));
  if (!caller.ok()) return ToGrpc(caller.status());
  const auto slot = TakeSlot(*caller, "GetEvidence");
  if (!slot.ok()) return ToGrpc(slot.status());
  const auto bundles = calls_.GetEvidence(*request);
  gate_.Log(*caller, "GetEvidence",
            request->run().empty() ? absl::StrCat(request->audit(), ":", request->side()) : request->run(),
            bundles.status());
  if (!bundles.ok()) return ToGrpc(bundles.status());
  for (std::size_t i = 0; i < bundles->size(); ++i) {
    for (std::size_t at = 0; at < (*bundles)[i].size(); at += kChunkBytes) {
      v1::EvidenceChunk chunk;
      chunk.set_bundle(static_cast<int>(i));
      chunk.set_data((*bundles)[i].substr(at, kChunkBytes));
      if (!writer->Write(chunk)) return grpc::Status::CANCELLED;
      if (const absl::Status still = gate_.StillGood(*caller); !still.ok()) return ToGrpc(still);
    }
  }
  return grpc::Status::OK;
}

}  // namespace paritect
