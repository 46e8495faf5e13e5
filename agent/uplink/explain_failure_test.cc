#include "agent/uplink/explain_failure.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::Status Explain(absl::StatusCode code, absl::string_view message, absl::string_view tls = "") {
  return ExplainFailure({code, message, "audit:7400", tls});
}

TEST(ExplainFailure, TellsAnUnreachableServerFromARefusedCertificate) {
  const auto kUnavailable = absl::StatusCode::kUnavailable;
  const absl::Status refused = Explain(kUnavailable, "failed to connect to all addresses; Connection refused");
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_THAT(refused.message(), HasSubstr("audit:7400 not reachable: failed to connect"));
  EXPECT_TRUE(absl::IsUnauthenticated(
      Explain(kUnavailable, "Empty update", "error:0A000086:SSL routines::certificate verify failed")));
  const absl::Status expired =
      Explain(kUnavailable, "Socket closed", "error:0A000415:SSL routines::sslv3 alert certificate expired");
  EXPECT_TRUE(absl::IsUnauthenticated(expired));
  EXPECT_THAT(expired.message(), HasSubstr("join again"));
  EXPECT_THAT(std::string(expired.message()), StartsWith("refused: "));
  EXPECT_TRUE(absl::IsPermissionDenied(
      Explain(kUnavailable, "", "error:0A000414:SSL routines::sslv3 alert certificate revoked")));
  EXPECT_THAT(Explain(kUnavailable, "", "tlsv1 alert unknown ca").message(), HasSubstr("another authority"));
  EXPECT_THAT(Explain(kUnavailable, "", "error:0A00010B:SSL routines::wrong version number").message(),
              HasSubstr("does not speak TLS"));
}

TEST(ExplainFailure, AServersOwnWordsStay) {
  EXPECT_EQ(Explain(absl::StatusCode::kPermissionDenied, "node revoked", "alert unknown ca"),
            absl::PermissionDeniedError("refused: node revoked"));
  EXPECT_THAT(Explain(absl::StatusCode::kDeadlineExceeded, "Deadline Exceeded").message(),
              HasSubstr("did not answer in time"));
}

}  // namespace
}  // namespace paritect
