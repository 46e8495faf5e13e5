#include "common/host_port.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

TEST(HostPort, GoesBothWays) {
  for (const char* text : {"localhost:7400", "10.0.0.1:1", "[::1]:65535", "audit.example.com:0"}) {
    const auto address = ParseHostPort(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(FormatHostPort(*address), text);
  }
  EXPECT_EQ(ParseHostPort("[fe80::1]:80")->host, "fe80::1");
}

TEST(HostPort, RefusesWhatIsNone) {
  for (const char* text : {"",       ":",       "a",      "a:",           ":80",
                           "a:b",    "a:65536", "a:-1",   "a:+1",         "a: 1",
                           "::1:80", "[::1]",   "[]:80",  "https://a:80", "a/b:80",
                           "a b:80", "a\n:80",  "u@a:80", "[a:80",        "a:999999999999999999999"}) {
    EXPECT_EQ(ParseHostPort(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_LT(ParseHostPort(std::string(100'000, 'a')).status().message().size(), 200u);
}

TEST(HostPort, AddressesAndTheLoopback) {
  EXPECT_TRUE(IsIpAddress("10.0.0.1"));
  EXPECT_TRUE(IsIpAddress("::1"));
  EXPECT_FALSE(IsIpAddress("10.0.0"));
  EXPECT_FALSE(IsIpAddress("node-1"));
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"128.0.0.1", "127.evil.example", "::2", "localhost.example", ""}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace paritect
