#include "server/transport/web.h"

#include "absl/strings/str_cat.h"
#include "common/net/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using net_testing::Dialled;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Ask(absl::string_view line) {
  return AnswerMonitor(absl::StrCat(line, "\r\nHost: x\r\n\r\n"), [] { return std::string("paritect_nodes 3\n"); });
}

TEST(AnswerMonitor, HasTwoPages) {
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("version=0.0.4"), HasSubstr("Content-Length: 17\r\n"),
                    EndsWith("\r\n\r\nparitect_nodes 3\n")));
  EXPECT_THAT(Ask("GET /healthz?x=1 HTTP/1.0"), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(Ask("HEAD /healthz HTTP/1.1"), AllOf(HasSubstr("Content-Length: 3\r\n"), EndsWith("close\r\n\r\n")));
  EXPECT_THAT(Ask("GET / HTTP/1.1"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1"), StartsWith("HTTP/1.1 405 "));
  for (const char* line :
       {"", "GET", "GET /metrics", "GET  /metrics HTTP/1.1", "GET /metrics HTTP/2", "\x16\x03\x01"}) {
    EXPECT_THAT(Ask(line), StartsWith("HTTP/1.1 400 ")) << line;
  }
}

class WebServerTest : public ::testing::Test {
 protected:
  std::string Health() const {
    const Dialled monitor(web_->port());
    monitor.Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    return monitor.Drain();
  }
  const std::unique_ptr<WebServer> web_ =
      *StartWebServer({"127.0.0.1", 0}, [] { return std::string("paritect_nodes 3\n"); });
};

// Headers without end were kept in memory without end.
TEST_F(WebServerTest, HeadersWithoutEndAreHungUpOn) {
  const Dialled endless(web_->port());
  endless.Send("GET /healthz HTTP/1.1\r\n");
  for (int i = 0; i < 1000; ++i) endless.Send(absl::StrCat("X-", i, ": ", std::string(100, 'x'), "\r\n"));
  EXPECT_TRUE(endless.IsHungUpOn());
  const Dialled one_line(web_->port());
  one_line.Send(std::string(1 << 20, 'x'));
  EXPECT_TRUE(one_line.IsHungUpOn());
  EXPECT_THAT(Health(), EndsWith("ok\n"));
}

// Eight of them used to hold all threads.
TEST_F(WebServerTest, SlowCallersStopNobody) {
  std::vector<Dialled> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(web_->port());
    slow.back().Send("GET /heal");
  }
  EXPECT_THAT(Health(), EndsWith("ok\n"));
}

TEST_F(WebServerTest, APortInUseIsAnError) {
  EXPECT_TRUE(absl::IsUnavailable(StartWebServer({"127.0.0.1", web_->port()}, [] { return ""; }).status()));
}

// The page's own limits: they were those of the monitor, for the page was looked at after it had been moved.
TEST(WebPage, TakesARequestOfItsSize) {
  WebPage page;
  page.answer = [](const HttpRequest& request, const OneShotPeer&) {
    return HttpAnswer{200, "text/plain", absl::StrCat(request.body.size(), " bytes\n"), {}};
  };
  const auto web = *StartWebServer(
      {"127.0.0.1", 0}, [] { return std::string(); }, std::move(page));
  for (const std::size_t size : {std::size_t{10}, std::size_t{60} << 10}) {
    const Dialled browser(web->port());
    browser.Send(absl::StrCat(
        "POST /api/waivers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ", size, "\r\n\r\n",
        std::string(size, 'x')));
    EXPECT_THAT(browser.Drain(), EndsWith(absl::StrCat("\r\n\r\n", size, " bytes\n")));
  }
}

}  // namespace
}  // namespace paritect
