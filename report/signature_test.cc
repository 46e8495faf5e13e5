#include "report/signature.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "common/pki/report_key.h"

namespace paritect {
namespace {

OrderedJson Parsed(const char* text) {
  return OrderedJson::parse(text, nullptr, false);
}

TEST(CanonicalJson, IsOneForEveryWayOfWriting) {
  const std::string canonical = CanonicalJson(Parsed(R"({"b": 1.50, "a": {"y": [1e2, "Ä"], "x": null}})"));
  EXPECT_EQ(canonical, CanonicalJson(Parsed(R"({"a":{"x":null,"y":[100.0,"\u00c4"]},"b":1.5})")));
  EXPECT_EQ(canonical.substr(0, 10), R"({"a":{"x":)");
  EXPECT_NE(canonical, CanonicalJson(Parsed(R"({"a":{"x":null,"y":[100.0,"\u00c4"]},"b":1.6})")));
  EXPECT_EQ(CanonicalJson(Parsed(R"({"a":1,"signature":{"value":"x"}})")), R"({"a":1})");
}

TEST(SigningKeyOf, NamesTheKeyOfASignatureThatHolds) {
  std::string folder = ::testing::TempDir() + "signature-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto key = ReportKey::LoadOrMake(folder);
  OrderedJson report = Parsed(R"({"schema": "paritect.report/1", "items": []})");
  EXPECT_TRUE(absl::IsNotFound(SigningKeyOf(report).status()));
  report["signature"] = {{"public_key", absl::Base64Escape(key->public_key())},
                         {"value", absl::Base64Escape(*key->Sign(CanonicalJson(report)))}};
  EXPECT_EQ(SigningKeyOf(report).value_or(""), key->public_key());
  report["items"].push_back("another");
  EXPECT_TRUE(absl::IsDataLoss(SigningKeyOf(report).status()));
}

TEST(SigningKeyOf, TakesNothingForGranted) {
  for (const char* text :
       {R"({"signature": 1})", R"({"signature": {}})", R"({"signature": {"public_key": 1, "value": []}})",
        R"({"signature": {"public_key": "AA==", "value": "AA=="}})"}) {
    EXPECT_TRUE(absl::IsDataLoss(SigningKeyOf(Parsed(text)).status())) << text;
  }
  EXPECT_TRUE(absl::IsNotFound(SigningKeyOf(Parsed("[]")).status()));
}

}  // namespace
}  // namespace paritect
