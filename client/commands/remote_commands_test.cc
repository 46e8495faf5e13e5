// Commands with a server, but for `audit` and `doctor`.
#include "client/remote/remote_fixture.h"
#include "client/remote/words.h"
#include "common/pki/join_token.h"
#include "common/pki/pin.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class RemoteCommandsTest : public RemoteTest {};

TEST_F(RemoteCommandsTest, TokenIsPrintedAloneAndTheHintOnlyOnATerminal) {
  fleet_.on_CreateToken = [](const v1::CreateTokenRequest& request) {
    EXPECT_EQ(request.role(), v1::ACCESS_ROLE_AGENT);
    EXPECT_EQ(request.ttl_seconds(), 1800);
    EXPECT_EQ(request.uses(), 1);
    EXPECT_EQ(request.node(), "npu-01");
    v1::CreateTokenResponse response;
    response.set_token("pjt-aaaa");
    return response;
  };
  const std::vector<std::string> command = {"token", "create", "--role", "agent", "--ttl", "30m", "--node", "npu-01"};
  EXPECT_EQ(Run(command), kExitOk);
  EXPECT_EQ(out(), "pjt-aaaa\n");
  EXPECT_THAT(err(), IsEmpty());
  err_is_terminal_ = true;
  EXPECT_EQ(Run(command), kExitOk);
  EXPECT_EQ(out(), "pjt-aaaa\n");
  const auto authority = Certificate::FromPem(fleet_.credential.authority_pem);
  EXPECT_THAT(err(), HasSubstr(absl::StrCat("paritect-agent join server.example:7400 --token pjt-aaaa --ca-pin ",
                                            CaPin::Of(*authority).ToString(), " --node npu-01\n")));
}

TEST_F(RemoteCommandsTest, TokenMistakes) {
  EXPECT_EQ(Run({"token", "create"}), kExitUsage);
  EXPECT_EQ(Run({"token", "create", "--role", "agnet"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean 'agent'?"));
  EXPECT_EQ(Run({"token", "create", "--role", "agent", "--ttl", "0"}), kExitUsage);
  EXPECT_EQ(Run({"token", "create", "--role", "agent", "--uses", "0"}), kExitUsage);
  EXPECT_EQ(Run({"token", "create", "--role", "agent", "--node", "../x"}), kExitUsage);
  EXPECT_EQ(Run({"token", "create", "--role", "agent", "--node", "a", "--uses", "2"}), kExitUsage);
  EXPECT_THAT(fleet_.calls, IsEmpty());
  fleet_.on_CreateToken = [&](const v1::CreateTokenRequest& request) {
    EXPECT_EQ(request.node(), "npu-*");
    EXPECT_EQ(request.uses(), 200);
    return v1::CreateTokenResponse();
  };
  EXPECT_EQ(Run({"token", "create", "--role", "agent", "--node", "npu-*", "--uses", "200"}), kExitOk) << err();
  fleet_.on_CreateToken = [](const v1::CreateTokenRequest&) -> absl::StatusOr<v1::CreateTokenResponse> {
    return absl::PermissionDeniedError("operator chen may not call CreateToken: it takes an admin");
  };
  EXPECT_EQ(Run({"token", "create", "--role", "agent"}), kExitServer);
  EXPECT_THAT(err(), HasSubstr("it takes an admin"));
  EXPECT_THAT(out(), IsEmpty());
}

TEST_F(RemoteCommandsTest, JoinMistakesAreToldBeforeTheTokenIsSpent) {
  const std::string token = *NewToken();
  const std::string pin = absl::StrCat("sha256:", std::string(64, 'a'));
  pki_testing::Folder folder;
  const auto join = [&](std::vector<std::string> more, const std::string& server = "127.0.0.1:1") {
    std::vector<std::string> args = {"join", server, "-o", folder / "x.credential"};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  };
  EXPECT_EQ(join({"--token", token}), kExitUsage);
  EXPECT_EQ(join({"--ca-pin", pin, "--name", "chen"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("--token T or --token-file FILE"));
  EXPECT_EQ(join({"--ca-pin", pin, "--name", "chen", "--token", "x"}), kExitUsage);
  EXPECT_EQ(join({"--ca-pin", "sha1:aa", "--name", "chen", "--token", token}), kExitUsage);
  EXPECT_EQ(join({"--ca-pin", pin, "--token", token}), kExitUsage);  // nobody: USER is not set
  EXPECT_EQ(join({"--ca-pin", pin, "--name", "../x", "--token", token}), kExitUsage);
  EXPECT_EQ(join({"--ca-pin", pin, "--name", "chen", "--token", token}, "https://x"), kExitUsage);
  EXPECT_EQ(Run({"join", "a:1", "--ca-pin", pin, "--name", "chen", "--token", token, "-o", "/no/such/folder/x"}),
            kExitUsage);
  EXPECT_EQ(Run({"join", "a:1", "--ca-pin", pin, "--name", "chen", "--token", token, "-o", CredentialFile()}),
            kExitUsage);
  EXPECT_THAT(err(), HasSubstr("is there already"));
  fs_.AddFile("/token", token + "\n");
  EXPECT_EQ(join({"--ca-pin", pin, "--name", "chen", "--token-file", "/token"}), kExitServer);
  EXPECT_THAT(err(), HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(err(), HasSubstr("trying for 5 s, as the server may be starting\n"));
  EXPECT_TRUE(absl::IsNotFound(PosixFileSystem().LStat(folder / "x.credential").status()));
}

TEST_F(RemoteCommandsTest, ThatAServerIsWaitedForIsToldInTheUsersLanguage) {
  const std::string english =
      "server a:1 not reachable: connection refused (is the server running, on that port?); trying for 5 s, as the "
      "server may be starting";
  fleet_.on_ListNodes = [&](const v1::ListNodesRequest&) {
    fleet_.waiting(english);
    return v1::ListNodesResponse();
  };
  EXPECT_EQ(Run({"node", "ls"}), kExitOk);
  EXPECT_THAT(err(), StartsWith(absl::StrCat("paritect: ", english, "\n")));
  EXPECT_EQ(Run({"--lang", "zh", "node", "ls"}), kExitOk);
  EXPECT_THAT(err(), StartsWith("paritect: 无法连接服务器 a:1：连接被拒绝"));
  EXPECT_THAT(err(), HasSubstr("服务器可能正在启动，最多再试 5 秒\n"));
}

TEST_F(RemoteCommandsTest, CredentialsThatCannotBeUsed) {
  environment().erase("PARITECT_CREDENTIAL");
  EXPECT_EQ(Run({"node", "ls"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("no server is named"));
  EXPECT_EQ(Run({"node", "ls", "--credential", "/no/such/file"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("named by --credential: "));
  EXPECT_EQ(Run({"node", "ls", "--credential", "/tmp"}), kExitUsage);
  EXPECT_EQ(Run({"node", "ls", "--credential", CredentialFile(), "--timeout", "x"}), kExitUsage);
  now_ms() += 31 * kDaySeconds * 1000;  // no server would take it any more
  EXPECT_EQ(Run({"node", "ls", "--credential", CredentialFile()}), kExitServer);
  EXPECT_THAT(err(), HasSubstr("expired on"));
  EXPECT_THAT(fleet_.calls, IsEmpty());
}

v1::ListNodesResponse TwoNodes() {
  v1::ListNodesResponse response;
  v1::NodeRow& silent = *response.add_nodes();
  silent.set_state("silent");
  silent.mutable_node()->set_name("npu-02");
  silent.mutable_node()->set_role(v1::ACCESS_ROLE_AGENT);
  v1::NodeRow& online = *response.add_nodes();
  online.set_state("online");
  online.mutable_node()->set_name("npu-01");
  online.mutable_node()->set_role(v1::ACCESS_ROLE_AGENT);
  online.mutable_node()->set_last_seen_unix_ms(1'700'000'000'000);
  online.mutable_node()->set_clock_offset_ms(-12);
  online.mutable_node()->set_clock_offset_known(true);
  online.mutable_node()->mutable_hello()->set_program("paritect-agent 0.1.0");
  online.mutable_node()->mutable_hello()->set_first_available(5);
  online.mutable_node()->mutable_hello()->set_next_sequence(9);
  return response;
}

TEST_F(RemoteCommandsTest, NodesAsTableAndJson) {
  fleet_.on_ListNodes = [](const v1::ListNodesRequest&) { return TwoNodes(); };
  EXPECT_EQ(Run({"node", "ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr(absl::StrCat("npu-01  agent  online  ", AgoWord(1'700'000'000'000, now_ms()),
                                            "  -12 ms  4 records")));
  EXPECT_THAT(out(), HasSubstr("npu-02  agent  silent  never"));
  EXPECT_EQ(Run({"node", "ls", "-o", "json"}), kExitOk);
  const auto json = Json(out());
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["node"], "npu-01");
  EXPECT_EQ(json[0]["role"], "agent");
  EXPECT_EQ(json[0]["state"], "online");
  EXPECT_EQ(json[0]["last_seen"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(json[1]["last_seen"], nullptr);
  EXPECT_EQ(json[1]["clock_offset_ms"], nullptr);
  EXPECT_EQ(Run({"node", "ls", "--state", "silent", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out()).size(), 1u);
  EXPECT_EQ(Run({"node", "list"}), kExitUsage);
  EXPECT_EQ(Run({"node", "ls", "-o", "yaml"}), kExitUsage);
  EXPECT_EQ(Run({"node", "ls", "--role", "agnt"}), kExitUsage);
}

v1::NodeRow StolenNode() {
  v1::NodeRow row;
  row.set_state("online");
  v1::NodeRecord& node = *row.mutable_node();
  node.set_name("npu-03");
  node.set_role(v1::ACCESS_ROLE_AGENT);
  node.set_address("10.0.0.3");
  node.set_contests(4);
  node.set_other_address("10.6.6.6");
  node.set_problem("more bytes in flight than the window allows");
  node.mutable_hello()->set_program("paritect-agent 0.1.0");
  (*node.mutable_hello()->mutable_labels())["rack"] = "r7";
  (*node.mutable_hello()->mutable_devices())["19e5:d802"] = 8;
  (*node.mutable_hello()->mutable_devices())["1234:5678"] = 1;
  node.mutable_task()->set_task_id("resnet #3");
  node.mutable_task()->set_stage("datasets");
  node.mutable_task()->set_bytes_done(1'000'000);
  node.mutable_task()->set_bytes_total(2'000'000);
  return row;
}

TEST_F(RemoteCommandsTest, AllThatIsKnownOfANode) {
  fleet_.on_ListNodes = [](const v1::ListNodesRequest&) {
    v1::ListNodesResponse response = TwoNodes();
    *response.add_nodes() = StolenNode();
    return response;
  };
  EXPECT_EQ(Run({"node", "ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("online (two agents!)"));
  EXPECT_THAT(out(), Not(HasSubstr("10.6.6.6")));
  EXPECT_EQ(Run({"node", "ls", "-o", "wide"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("10.0.0.3 and 10.6.6.6"));
  EXPECT_THAT(out(), HasSubstr("rack=r7"));
  EXPECT_EQ(Run({"node", "show", "npu-03"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("yes, 4 times"));
  EXPECT_THAT(out(), HasSubstr("resnet #3, datasets 1.0 MB of 2.0 MB"));
  EXPECT_THAT(out(), HasSubstr("more bytes in flight"));
  EXPECT_THAT(out(), HasSubstr("1 x 1234:5678, 8 x Atlas A2 (19e5:d802)"));
  EXPECT_THAT(out(), Not(HasSubstr("npu-01")));
  EXPECT_EQ(Run({"node", "show", "npu-03", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())[0]["contests"], 4);
  EXPECT_EQ(Json(out())[0]["task"]["stage"], "datasets");
  EXPECT_EQ(Json(out())[0]["devices"][0]["product"], nullptr);
  EXPECT_EQ(Json(out())[0]["devices"][1]["product"], "Atlas A2");
  EXPECT_EQ(Json(out())[0]["devices"][1]["count"], 8);
  EXPECT_EQ(Run({"node", "show", "npu-9"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("nobody is enrolled as 'npu-9'"));
}

TEST_F(RemoteCommandsTest, NodesAreWatchedUntilTheServerIsGone) {
  int times = 0;
  fleet_.on_ListNodes = [&times](const v1::ListNodesRequest&) -> absl::StatusOr<v1::ListNodesResponse> {
    if (++times == 3) return absl::UnavailableError("gone");
    return TwoNodes();
  };
  EXPECT_EQ(Run({"node", "ls", "--watch"}), kExitServer);
  EXPECT_EQ(times, 3);
}

TEST_F(RemoteCommandsTest, TokensAreListedWithoutTheirSecretAndRevoked) {
  const std::string token = *NewToken();
  fleet_.on_ListTokens = [](const v1::ListTokensRequest&) {
    v1::ListTokensResponse response;
    v1::TokenRow& row = *response.add_tokens();
    row.set_id("0123456789ab");
    row.mutable_token()->set_role(v1::ACCESS_ROLE_AGENT);
    row.mutable_token()->set_uses_left(7);
    row.mutable_token()->set_created_by("admin/chen");
    return response;
  };
  std::string revoked;
  fleet_.on_RevokeToken = [&revoked](const v1::RevokeTokenRequest& request) -> absl::StatusOr<v1::RevokeTokenResponse> {
    revoked = request.id();
    if (revoked == "ffffffffffff") return absl::NotFoundError("there is no token ffffffffffff");
    v1::RevokeTokenResponse response;
    response.mutable_token()->set_id(revoked.substr(0, 12));
    return response;
  };
  EXPECT_EQ(Run({"token", "ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("0123456789ab  agent  anybody  7"));
  EXPECT_THAT(out(), HasSubstr("admin/chen"));
  EXPECT_EQ(Run({"token", "ls", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())[0]["uses_left"], 7);
  EXPECT_EQ(Run({"token", "revoke", "0123456789AB"}), kExitOk);
  EXPECT_EQ(revoked, "0123456789ab");
  EXPECT_EQ(Run({"token", "revoke", token}), kExitOk);
  EXPECT_EQ(revoked, *TokenDigest(token)) << "the secret itself is not sent";
  EXPECT_EQ(Run({"token", "revoke", "ffffffffffff"}), kExitUsage);
  EXPECT_EQ(Run({"token", "revoke"}), kExitUsage);
}

TEST_F(RemoteCommandsTest, TheLogIsReadFromItsEndAndFiltered) {
  std::vector<v1::AuditLogEntry> entries;
  for (int i = 1; i <= 2500; ++i) {
    v1::AuditLogEntry& entry = entries.emplace_back();
    entry.set_number(i);
    entry.set_at_unix_ms(now_ms() - (2500 - i) * 1000);
    entry.set_actor(i % 2 == 0 ? "admin/chen" : "-/10.6.6.6");
    entry.set_address(i % 2 == 0 ? "10.0.0.1" : "");
    entry.set_action(i % 100 == 0 ? "RevokeNode" : "Join");
    entry.set_outcome(i % 2 == 0 ? "ok" : "refused: no");
  }
  entries[2489].set_subject("agent/gpu-01");
  entries[2490].set_subject("gpu-01: key was stolen");
  entries[2491].set_subject("gpu-011");
  fleet_.on_ReadLog = [&entries](const v1::ReadLogRequest& request) {
    v1::ReadLogResponse response;
    response.set_last_number(static_cast<std::int64_t>(entries.size()));
    for (std::int64_t i = std::max<std::int64_t>(1, request.from());
         i <= response.last_number() && response.entries_size() < request.limit(); ++i) {
      *response.add_entries() = entries[static_cast<std::size_t>(i - 1)];
    }
    return response;
  };
  const auto numbers = [this](std::vector<std::string> options) {
    options.insert(options.begin(), {"log", "-o", "json"});
    EXPECT_EQ(Run(options), kExitOk);
    std::vector<int> out_numbers;
    for (const auto& one : Json(out())) out_numbers.push_back(one["number"]);
    return out_numbers;
  };
  EXPECT_THAT(numbers({"-n", "3"}), ElementsAre(2498, 2499, 2500));
  EXPECT_THAT(numbers({"-n", "2", "--what", "Revoke*"}), ElementsAre(2400, 2500));
  EXPECT_THAT(numbers({"-n", "2", "--from", "10.6.*"}), ElementsAre(2497, 2499));
  EXPECT_THAT(numbers({"-n", "1", "--who", "-/10.6.6.6"}), ElementsAre(2499));
  EXPECT_THAT(numbers({"--since", "3s", "--refused"}), ElementsAre(2497, 2499));
  EXPECT_EQ(numbers({"-n", "100", "--what", "RevokeNode"}).size(), 25u);
  EXPECT_THAT(numbers({"--subject", "gpu-01"}), ElementsAre(2490, 2491));
  EXPECT_EQ(Run({"log", "--who", "nobody"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("nothing in the log fits"));
  EXPECT_EQ(Run({"log", "-n", "2"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("2500    "));
  EXPECT_THAT(out(), HasSubstr("10.6.6.6"));
  const auto at = [this](int seconds) {
    return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", absl::FromUnixMillis(now_ms()) + absl::Seconds(seconds),
                            absl::UTCTimeZone());
  };
  EXPECT_THAT(numbers({"--since", at(-3), "--until", at(-1)}), ElementsAre(2497, 2498));
  EXPECT_THAT(numbers({"-n", "1", "--until", "3s"}), ElementsAre(2496));
  EXPECT_TRUE(numbers({"--since", "2999-12-31"}).empty());
  for (const char* bad : {"zzz", "2026-13-01", "2026-12-31T25:00:00Z", "yesterday", "-1h"}) {
    EXPECT_EQ(Run({"log", "--since", bad}), kExitUsage) << bad;
    EXPECT_EQ(Run({"log", "--until", bad}), kExitUsage) << bad;
  }
  EXPECT_EQ(Run({"log", "-n", "0"}), kExitUsage);
}

TEST_F(RemoteCommandsTest, RevokeTellsWhatFollows) {
  fleet_.on_RevokeNode = [](const v1::RevokeNodeRequest& request) {
    EXPECT_EQ(request.reason(), "stolen");
    v1::RevokeNodeResponse response;
    response.set_revoked(request.name() == "npu-01" ? 1 : 0);
    return response;
  };
  EXPECT_EQ(Run({"node", "revoke", "npu-01", "--reason", "stolen"}), kExitOk);
  EXPECT_THAT(out(), StartsWith("npu-01 revoked"));
  EXPECT_EQ(Run({"node", "revoke", "npu-9", "--reason", "stolen"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("nobody is enrolled as 'npu-9'"));
  EXPECT_EQ(Run({"node", "revoke"}), kExitUsage);
}

TEST_F(RemoteCommandsTest, RunsAreListedAndShown) {
  fleet_.on_ListRuns = [](const v1::ListRunsRequest& request) {
    v1::ListRunsResponse response;
    if (request.run() == "lost") return response;
    v1::RunRow& row = *response.add_runs();
    row.set_run("gpu-1");
    for (int i = 0; i < 5; ++i) row.add_nodes(absl::StrCat("gpu-0", i));
    row.set_bundles(5);
    row.set_replaced(2);
    row.add_strange_nodes("gpu-00");
    row.add_sources("audit resnet50 #3");
    return response;
  };
  EXPECT_EQ(Run({"runs", "ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("gpu-1  5 nodes  5 (2 replaced) (left out: gpu-00)"));
  EXPECT_EQ(Run({"runs", "ls", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())[0]["nodes"].size(), 5u);
  EXPECT_EQ(Json(out())[0]["left_out_nodes"][0], "gpu-00");
  EXPECT_EQ(Run({"runs", "show", "gpu-1"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("gpu-00, gpu-01"));
  EXPECT_EQ(Run({"runs", "show", "gpu-1", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())["run"], "gpu-1");
  EXPECT_EQ(Run({"runs", "show", "lost"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("no recorded run 'lost'"));
}

std::string BundleBytes(const std::string& run, std::size_t filler = 0) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(run);
  bundle.mutable_plan()->set_node("gpu-01");
  bundle.mutable_plan()->set_plan_file(std::string(filler, 'x'));
  auto bytes = SerializeBundle(bundle);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

TEST_F(RemoteCommandsTest, ImportStreamsWholeFilesAndSaysWhatIsThereAlready) {
  const std::string large = BundleBytes("gpu-1", 3'500'000);
  fs_.AddFile("/in/a.pbundle", large);
  fs_.AddFile("/in/b.pbundle", BundleBytes("gpu-2"));
  std::set<std::string> stored;
  fleet_.on_import = [&](const std::string& file, const std::string& bytes) -> absl::StatusOr<v1::ImportResponse> {
    auto bundle = ParseBundle(bytes);
    if (!bundle.ok()) return bundle.status();
    v1::ImportResponse response;
    response.set_run(bundle->plan().run());
    response.set_node(bundle->plan().node());
    response.set_pieces(12);
    response.set_known(!stored.insert(bytes).second);
    EXPECT_THAT(file, testing::AnyOf("a.pbundle", "b.pbundle", "cut.pbundle"));
    return response;
  };
  EXPECT_EQ(Run({"import", "/in/a.pbundle", "/in/b.pbundle"}), kExitOk);
  EXPECT_EQ(out(),
            "/in/a.pbundle: run gpu-1, node gpu-01, 12 pieces of evidence: stored\n"
            "/in/b.pbundle: run gpu-2, node gpu-01, 12 pieces of evidence: stored\n");
  EXPECT_EQ(Run({"import", "/in/a.pbundle"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("already there, nothing changed"));
  EXPECT_EQ(Run({"import", "/in/a.pbundle", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())["already_there"], true);

  fs_.AddFile("/in/cut.pbundle", large.substr(0, large.size() - 1));
  EXPECT_EQ(Run({"import", "/in/cut.pbundle"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("/in/cut.pbundle: byte "));
}

TEST_F(RemoteCommandsTest, WhatIsNoBundleIsNotSent) {
  fs_.AddFile("/in/msprobe.zip", "PK\x03\x04rest");
  fs_.AddFile("/in/text.pbundle", "run: x\n");
  fs_.AddFile("/in/empty.pbundle", "");
  EXPECT_EQ(Run({"import", "/in/msprobe.zip"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("a zip archive, and not one of msprobe's config_check"));
  EXPECT_EQ(Run({"import", "/in/text.pbundle"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("not an evidence bundle (7 bytes)"));
  EXPECT_EQ(Run({"import", "/in/empty.pbundle"}), kExitUsage);
  EXPECT_EQ(Run({"import", "/in/lost.pbundle"}), kExitUsage);
  EXPECT_EQ(Run({"import"}), kExitUsage);
  EXPECT_THAT(fleet_.calls, IsEmpty());
}

std::vector<std::string> Attest(const std::string& check, const std::string& until = "2026-12-31",
                                const std::string& by = "Chen") {
  return {"attest", check, "--audit", "resnet50", "--by", by, "--reason", "looked at it", "--until", until};
}

TEST_F(RemoteCommandsTest, AttestNeedsACheckAPersonAReasonAndADay) {
  fleet_.on_Attest = [](const v1::AttestRequest& request) {
    EXPECT_EQ(request.attestation().check(), "data.dataset.records");
    EXPECT_EQ(request.attestation().audit(), "resnet50");
    EXPECT_EQ(request.attestation().reason(), "looked at it");
    return v1::AttestResponse();
  };
  EXPECT_EQ(Run(Attest("data.dataset.records")), kExitOk);
  EXPECT_THAT(out(), HasSubstr("attested by Chen until 2026-12-31"));
  EXPECT_EQ(Run(Attest("data.dataset.recrds")), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean 'data.dataset.records'?"));
  EXPECT_EQ(Run(Attest("data.dataset")), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("is an item; name one of its checks: data.dataset."));
  for (const char* until : {"2026-09-20", "2026-02-30", "tomorrow", "2026-1-1"}) {
    EXPECT_EQ(Run(Attest("data.dataset.records", until)), kExitUsage) << until;
  }
  EXPECT_EQ(Run(Attest("data.dataset.records", "2026-09-21")), kExitOk);  // the last day counts
  EXPECT_EQ(Run(Attest("data.dataset.records", "2026-12-31", " ")), kExitUsage);
  EXPECT_EQ(Run({"attest", "data.dataset.records", "--audit", "x"}), kExitUsage);
}

std::vector<std::string> Waive(std::vector<std::string> more) {
  std::vector<std::string> args = {
      "waive", "add", "data.dataset.content", "--by", "Chen", "--reason", "old set", "--until", "2026-12-31"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST_F(RemoteCommandsTest, WaiveAddNeedsAKindOrASubject) {
  fleet_.on_AddWaiver = [](const v1::AddWaiverRequest& request) {
    EXPECT_THAT(request.waiver().nodes(), ElementsAre("npu-*", "gpu-01"));
    EXPECT_EQ(request.waiver().kind(), "content_differs");
    v1::AddWaiverResponse response;
    response.set_number(7);
    return response;
  };
  EXPECT_EQ(Run(Waive({"--kind", "content_differs", "--node", "npu-*", "--node", "gpu-01"})), kExitOk);
  EXPECT_THAT(out(), StartsWith("waiver 7: data.dataset.content until 2026-12-31"));
  EXPECT_EQ(Run(Waive({})), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("needs --kind or --subject"));
  EXPECT_EQ(Run({"waive", "ad"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean 'add'?"));
}

v1::ListWaiversResponse ThreeWaivers() {
  v1::ListWaiversResponse response;
  for (int number = 1; number <= 3; ++number) {
    v1::StoredWaiver& waiver = *response.add_waivers();
    waiver.set_number(number);
    waiver.set_check("data.dataset.content");
    waiver.set_subject("a.bin");
    waiver.set_by("Chen");
    waiver.set_reason(absl::StrCat("reason ", number));
    waiver.set_until(number == 2 ? "2026-01-01" : "2026-12-31");
  }
  response.mutable_waivers(2)->set_check("data.dataset.contnt");
  return response;
}

TEST_F(RemoteCommandsTest, WaiveListsAndFindsWhatIsStale) {
  fleet_.on_ListWaivers = [](const v1::ListWaiversRequest&) { return ThreeWaivers(); };
  EXPECT_EQ(Run({"waive", "ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("2026-01-01 (ended)"));
  EXPECT_EQ(Run({"waive", "ls", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())["waivers"].size(), 3u);
  EXPECT_EQ(Json(out())["waivers"][0]["audit"], nullptr);

  fleet_.on_ListAudits = [](const v1::ListAuditsRequest&) {
    v1::ListAuditsResponse response;
    response.add_audits()->mutable_definition()->set_name("resnet50");
    return response;
  };
  v1::Report report = ReportOf(v1::VERDICT_FAIL);
  fleet_.on_GetReport = [&](const v1::GetReportRequest&) {
    v1::GetReportResponse response;
    *response.mutable_run() = RunOf(v1::AUDIT_RUN_STATE_DONE);
    *response.mutable_report() = report;
    return response;
  };
  EXPECT_EQ(Run({"waive", "lint"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("waiver 2 of data.dataset.content: ended on 2026-01-01"));
  EXPECT_THAT(out(), HasSubstr("there is no check 'data.dataset.contnt'; did you mean 'data.dataset.content'?"));
  EXPECT_THAT(out(), HasSubstr("waiver 1: matches no finding"));
  v1::Waiver& used = *report.mutable_items(0)->mutable_checks(0)->mutable_findings(0)->mutable_waived();
  used.set_by("Chen");
  used.set_reason("reason 1");
  used.set_until("2026-12-31");
  EXPECT_EQ(Run({"waive", "lint"}), kExitFailed);
  EXPECT_THAT(out(), Not(HasSubstr("waiver 1:")));
}

TEST_F(RemoteCommandsTest, WaiveLintReadsFilesWithoutAServer) {
  environment().erase("PARITECT_CREDENTIAL");
  const char* entry = "check: data.dataset.content, reason: r, by: Chen";
  fs_.AddFile("/good.yaml",
              absl::StrCat("profile: site/1\nwaivers: [{", entry, ", kind: content_differs, until: 2099-01-01}]\n"));
  fs_.AddFile("/old.yaml", absl::StrCat("waivers: [{", entry, ", kind: content_differs, until: 2020-01-01}]\n"));
  fs_.AddFile("/wide.yaml", absl::StrCat("waivers: [{", entry, ", until: 2099-01-01}]\n"));
  fs_.AddFile("/bad.yaml", "waivers: [{chck: x}]\n");
  EXPECT_EQ(Run({"waive", "lint", "/good.yaml"}), kExitOk);
  EXPECT_EQ(Run({"waive", "lint", "/good.yaml", "/old.yaml"}), kExitFailed);
  EXPECT_EQ(Run({"waive", "lint", "/wide.yaml"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("names neither kind nor subject"));
  EXPECT_EQ(Run({"waive", "lint", "/bad.yaml"}), kExitUsage);
  EXPECT_THAT(err(), StartsWith("/bad.yaml:1:"));
}

class ReportTest : public RemoteTest {
 protected:
  ReportTest() {
    fleet_.on_GetReport = [this](const v1::GetReportRequest&) {
      v1::GetReportResponse response;
      *response.mutable_run() = RunOf(v1::AUDIT_RUN_STATE_DONE);
      *response.mutable_report() = report_;
      return response;
    };
  }
  v1::Report report_ = ReportOf(v1::VERDICT_FAIL);
};

TEST_F(ReportTest, AFileIsGenuineOrNot) {
  EXPECT_EQ(Run({"report", "resnet50", "-o", "json"}), kExitFailed);
  const std::string text = out();
  fs_.AddFile("/r.json", text);
  EXPECT_EQ(Run({"report", "verify", "/r.json"}), kExitOk);
  EXPECT_EQ(Run({"report", "verify", "/r.json", "--audit", "resnet50"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("is the report of run 3 of audit resnet50"));

  // Somebody made a failure a pass.
  std::string forged = text;
  for (std::size_t at; (at = forged.find("\"verdict\": \"fail\"")) != std::string::npos;) {
    forged.replace(at, 17, "\"verdict\": \"pass\"");
  }
  fs_.AddFile("/forged.json", forged);
  EXPECT_EQ(Run({"report", "verify", "/forged.json"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("has errors that nobody waived"));
  EXPECT_THAT(out(), HasSubstr("counts.fail is 1, the items give 0"));
  report_ = ReportOf(v1::VERDICT_PASS);
  EXPECT_EQ(Run({"report", "verify", "/r.json", "--audit", "resnet50"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("differs from the server's report"));

  for (const char* bad :
       {"", "[]", "{", "{\"schema\": \"paritect.report/1\"}", "{\"schema\": 1, \"items\": 2}",
        "{\"schema\":\"paritect.report/1\",\"verdict\":\"pass\",\"profile\":\"x\",\"counts\":{\"pass\":\"1\"},"
        "\"items\":[]}",
        "{\"schema\":\"paritect.report/1\",\"verdict\":\"pass\",\"profile\":\"x\",\"counts\":{},"
        "\"items\":[{\"id\":\"a\",\"verdict\":\"pass\",\"checks\":[1]}]}"}) {
    fs_.AddFile("/bad.json", bad);
    EXPECT_EQ(Run({"report", "verify", "/bad.json"}), kExitUsage) << bad;
  }
  EXPECT_EQ(Run({"report", "verify", "/r.json", "--run", "3"}), kExitUsage);
  EXPECT_EQ(Run({"report"}), kExitUsage);
}

TEST_F(ReportTest, WhyAsksAnAuditsOwnEvidence) {
  fleet_.on_evidence = [](const v1::GetEvidenceRequest& request) {
    return std::vector<std::string>{BundleBytes(request.side() == "baseline" ? "gpu-1" : "npu-1", 1000)};
  };
  EXPECT_EQ(Run({"why", "data.dataset.content", "--audit", "resnet50"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("content_differs"));
  EXPECT_THAT(fleet_.calls, ElementsAre("GetReport", "GetEvidence", "GetEvidence"));
  EXPECT_EQ(Run({"why", "data.dataset.content@npu-09", "--audit", "resnet50"}), kExitUsage);
  EXPECT_EQ(Run({"why", "data.dataset.content", "--audit", "resnet50", "--baseline", "x"}), kExitUsage);
  fleet_.on_evidence = [](const v1::GetEvidenceRequest&) { return std::vector<std::string>{"damaged"}; };
  EXPECT_EQ(Run({"why", "data.dataset.content", "--audit", "resnet50"}), kExitInternal);
}

TEST_F(RemoteCommandsTest, CompletionKnowsVerbsAndTheirOptions) {
  environment().erase("PARITECT_CREDENTIAL");
  EXPECT_EQ(Run({"completion", "bash"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("\"audit run \"*) choices=\"-h --help --watch"));
  EXPECT_THAT(out(), HasSubstr("audit) choices=\"create run ls show wait cancel events stop rm\""));
  EXPECT_EQ(Run({"completion", "fish"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("'__fish_seen_subcommand_from token; and __fish_seen_subcommand_from create' -l role"));
  EXPECT_EQ(Run({"completion", "zsh"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("waive) choices=\"add ls rm lint\""));
}

}  // namespace
}  // namespace paritect
