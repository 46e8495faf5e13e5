#include "client/remote/remote_evidence.h"

#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

absl::StatusOr<std::vector<v1::Bundle>> Fetch(RemoteServer& server, const v1::GetEvidenceRequest& request) {
  std::vector<std::string> files;
  std::uint64_t total = 0;
  PARITECT_RETURN_IF_ERROR(server.GetEvidence(request, [&](const v1::EvidenceChunk& chunk) -> absl::Status {
    const auto index = static_cast<std::size_t>(chunk.bundle());
    if (chunk.bundle() < 0 || index > files.size()) return absl::DataLossError("the evidence came out of order");
    if (index == files.size()) files.emplace_back();
    files[index].append(chunk.data());
    total += chunk.data().size();
    if (total > kBundleBytesMax) return absl::ResourceExhaustedError("the evidence is too large for one answer");
    return absl::OkStatus();
  }));
  std::vector<v1::Bundle> bundles;
  for (std::string& bytes : files) {
    auto bundle = ParseBundle(bytes);
    if (!bundle.ok()) return Annotate(bundle.status(), "the evidence that the server sent");
    bundles.push_back(*std::move(bundle));
    bytes.clear();
    bytes.shrink_to_fit();
  }
  return bundles;
}

}  // namespace

bool IsRemoteSide(absl::string_view text) {
  return (absl::EndsWith(text, ":baseline") || absl::EndsWith(text, ":migrated")) && text.size() > 9;
}

absl::StatusOr<std::vector<v1::Bundle>> LoadAuditSide(RemoteServer& server, const std::string& audit, Side side) {
  v1::GetEvidenceRequest request;
  request.set_audit(audit);
  request.set_side(std::string(SideName(side)));
  return Fetch(server, request);
}

absl::StatusOr<std::vector<v1::Bundle>> LoadRemoteSide(CommandEnv& env, const std::string& text,
                                                       const RemoteArguments& remote) {
  if (!IsRemoteSide(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", DisplayBytes(text), "' is no side of an audit; write AUDIT:baseline or AUDIT:migrated"));
  }
  PARITECT_ASSIGN_OR_RETURN(Connection connection, OpenConnection(env, remote));
  const auto colon = text.rfind(':');
  const Side side = text.substr(colon + 1) == "baseline" ? Side::kBaseline : Side::kMigrated;
  return LoadAuditSide(*connection.server, text.substr(0, colon), side);
}

absl::StatusOr<std::vector<v1::Bundle>> LoadRemoteRun(CommandEnv& env, const std::string& run,
                                                      const RemoteArguments& remote) {
  PARITECT_ASSIGN_OR_RETURN(Connection connection, OpenConnection(env, remote));
  v1::GetEvidenceRequest request;
  request.set_run(run);
  return Fetch(*connection.server, request);
}

}  // namespace paritect
