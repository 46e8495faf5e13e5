#include "server/transport/webhook.h"

#include <netinet/in.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/tcp_stream.h"
#include "common/net/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using net_testing::ListeningSocket;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::Status Check(const TargetRules& rules, const std::string& text) {
  sockaddr_in6 six = {};
  sockaddr_in four = {};
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    return rules.Check(reinterpret_cast<const sockaddr&>(four));
  }
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &six.sin6_addr), 1) << text;
  six.sin6_family = AF_INET6;
  return rules.Check(reinterpret_cast<const sockaddr&>(six));
}

TEST(TargetRules, DenyWhatOnlyTheServerCanReach) {
  const TargetRules rules = *TargetRules::Parse({});
  for (const char* denied : {"127.0.0.1",  "127.1.2.3",         "0.0.0.0",         "10.0.0.1",
                             "172.16.0.1", "172.31.255.255",    "192.168.1.1",     "169.254.169.254",
                             "100.64.0.1", "224.0.0.1",         "255.255.255.255", "::1",
                             "::",         "fe80::1",           "fd00::1",         "fc00::1",
                             "ff02::1",    "::ffff:127.0.0.1",  "::ffff:10.0.0.1", "64:ff9b::7f00:1",
                             "::7f00:1",   "::ffff:0:127.0.0.1"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Check(rules, denied))) << denied;
  }
  for (const char* public_one :
       {"1.1.1.1", "8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"}) {
    EXPECT_TRUE(Check(rules, public_one).ok()) << public_one;
  }
  EXPECT_THAT(std::string(Check(rules, "10.1.2.3").message()), HasSubstr("--webhook-allow 10.1.2.3"));
}

TEST(TargetRules, ExceptionsAreRanges) {
  const TargetRules rules = *TargetRules::Parse({"10.1.0.0/16", "::1", "fd00:1::/33"});
  EXPECT_TRUE(Check(rules, "10.1.255.1").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Check(rules, "10.2.0.1")));
  EXPECT_TRUE(Check(rules, "::1").ok());
  EXPECT_TRUE(Check(rules, "fd00:1:7fff::1").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Check(rules, "fd00:1:8000::1")));
  EXPECT_TRUE(absl::IsPermissionDenied(Check(rules, "127.0.0.1")));
  for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "host.example", "::1/129"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TargetRules::Parse({bad}).status())) << bad;
  }
}

TEST(ParseWebhookUrl, TakesUrlsApart) {
  const auto plain = *ParseWebhookUrl("http://hooks.example");
  EXPECT_EQ(plain.Place(), "http://hooks.example:80");
  EXPECT_EQ(plain.path, "/");
  const auto full = *ParseWebhookUrl("https://jane:secret@[fd00::1]:8443/a/b?c=d#e");
  EXPECT_EQ(full.Place(), "https://[fd00::1]:8443");
  EXPECT_EQ(full.path, "/a/b?c=d");
  EXPECT_EQ(full.user, "jane:secret");
  EXPECT_EQ(ParseWebhookUrl("https://[::1]/x")->port, 443);
  for (const char* bad :
       {"", "ftp://x/", "http://", "http://x:0/", "http://x:y/", "http://x/ y", "http://x/\r\nA: b", "http://::1/"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWebhookUrl(bad).status())) << bad;
  }
}

// Answers callers one after the other with `serve`, until it goes.
class Hook {
 public:
  explicit Hook(std::function<void(int)> serve)
      : thread_([this, serve = std::move(serve)] {
          while (true) {
            const int fd = listening_.Accept();
            if (fd < 0 || over_) return;
            serve(fd);
            close(fd);
          }
        }) {}
  ~Hook() {
    over_ = true;
    const net_testing::Dialled wake(listening_.port());
    thread_.join();
  }
  WebhookUrl Url() const { return *ParseWebhookUrl(absl::StrCat("http://127.0.0.1:", listening_.port(), "/hook")); }
  std::string Text() const { return absl::StrCat(Url().Place(), "/hook"); }
  const std::atomic<bool>& over() const { return over_; }

 private:
  const ListeningSocket listening_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

std::string ReadRequest(int fd) {
  std::string request;
  char buffer[4096];
  while (!absl::EndsWith(request, "}")) {
    const ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
    if (n <= 0) break;
    request.append(buffer, static_cast<std::size_t>(n));
  }
  return request;
}

void Say(int fd, absl::string_view text) {
  send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

const TargetRules& Loopback() {
  static const TargetRules& rules = *new TargetRules(*TargetRules::Parse({"127.0.0.0/8"}));
  return rules;
}

TEST(PostJson, SendsAndReadsTheFirstLine) {
  std::string request;
  const Hook hook([&](int fd) {
    request = ReadRequest(fd);
    Say(fd, "HTTP/1.1 204 No Content\r\n\r\n");
  });
  WebhookUrl url = hook.Url();
  url.user = "jane:secret";
  EXPECT_EQ(*PostJson(url, "{\"a\":1}", Loopback(), 5000, nullptr), 204);
  EXPECT_THAT(request, AllOf(StartsWith("POST /hook HTTP/1.1\r\n"), HasSubstr("Content-Length: 7\r\n"),
                             HasSubstr("Authorization: Basic amFuZTpzZWNyZXQ=\r\n")));
}

TEST(PostJson, AnAddressThatMayNotBeCalledIsNotCalledWhateverItsName) {
  const ListeningSocket listening;
  // Also in the forms that the resolver takes for a number, and behind a user that looks like a host.
  for (const char* host : {"127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0.0.0.0",
                           "[::ffff:127.0.0.1]", "[::1]", "8.8.8.8@127.0.0.1", "8.8.8.8:80@localhost"}) {
    const WebhookUrl url = *ParseWebhookUrl(absl::StrCat("http://", host, ":", listening.port(), "/"));
    EXPECT_TRUE(absl::IsPermissionDenied(PostJson(url, "{}", TargetRules(), 5000, nullptr).status())) << host;
  }
}

// The one judge's thread used to wait for these.
TEST(PostJson, ADripSilenceAndAnAnswerWithoutEndAreGivenUp) {
  {
    const Hook drip([&](int fd) {
      ReadRequest(fd);
      Say(fd, "HTTP/1.1 2");
      for (int i = 0; i < 50; ++i) {
        Say(fd, "0");
        usleep(20'000);
      }
    });
    EXPECT_TRUE(absl::IsDeadlineExceeded(PostJson(drip.Url(), "{}", Loopback(), 300, nullptr).status()));
  }
  {
    const Hook endless([&](int fd) {
      ReadRequest(fd);
      const std::string much(64 << 10, 'x');
      while (send(fd, much.data(), much.size(), MSG_NOSIGNAL) > 0) {
      }
    });
    EXPECT_THAT(std::string(PostJson(endless.Url(), "{}", Loopback(), 5000, nullptr).status().message()),
                HasSubstr("does not end"));
  }
  const Hook body([&](int fd) {
    ReadRequest(fd);
    Say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3000000000\r\n\r\n");
    const std::string much(64 << 10, 'x');
    while (send(fd, much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_EQ(*PostJson(body.Url(), "{}", Loopback(), 5000, nullptr), 200) << "the body is left where it is";
}

// Wherever it points: the answer's first line is all that is read.
TEST(PostJson, ARedirectionIsNotFollowed) {
  std::atomic<int> called = 0;
  const ListeningSocket elsewhere;
  const Hook hook([&](int fd) {
    ++called;
    ReadRequest(fd);
    Say(fd, absl::StrCat("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:", elsewhere.port(),
                         "/\r\nContent-Length: 0\r\n\r\n"));
  });
  EXPECT_EQ(*PostJson(hook.Url(), "{}", Loopback(), 5000, nullptr), 307);
  EXPECT_EQ(called, 1);
  pollfd waited = {elsewhere.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&waited, 1, 0), 0) << "nobody called there";
}

TEST(PostJson, WhatIsNoHttpIsSaid) {
  for (const char* answer : {"SSH-2.0-x\r\n", "HTTP/1.1 999 x\r\n", "HTTP/1.1\r\n", "\n"}) {
    const Hook hook([&](int fd) {
      ReadRequest(fd);
      Say(fd, answer);
    });
    EXPECT_TRUE(absl::IsUnavailable(PostJson(hook.Url(), "{}", Loopback(), 5000, nullptr).status())) << answer;
  }
}

class WebhookQueueTest : public ::testing::Test {
 protected:
  WebhookQueue::Told Told() {
    return [this](const std::string& place, const absl::Status& status) {
      std::lock_guard<std::mutex> lock(mutex_);
      told_.push_back(absl::StrCat(place.substr(0, 17), " ", absl::StatusCodeToString(status.code())));
      changed_.notify_all();
    };
  }
  std::vector<std::string> WaitForTold(std::size_t n) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return told_.size() >= n; });
    return told_;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

TEST_F(WebhookQueueTest, TellsInOrderHowEachEnded) {
  std::atomic<int> calls = 0;
  const Hook hook([&](int fd) {
    ReadRequest(fd);
    const char* const answers[] = {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 Oops\r\n", "HTTP/1.1 301 Moved\r\n"};
    Say(fd, answers[calls++ % 3]);
  });
  WebhookQueue queue({Loopback()}, Told());
  for (const std::string& url :
       {hook.Text(), hook.Text(), hook.Text(), std::string("http://10.1.2.3/x"), std::string("nonsense")}) {
    queue.Post(url, "{}");
  }
  EXPECT_THAT(WaitForTold(5),
              ElementsAre("http://127.0.0.1: OK", "http://127.0.0.1: UNAVAILABLE", "http://127.0.0.1: UNAVAILABLE",
                          "http://10.1.2.3:8 PERMISSION_DENIED", " INVALID_ARGUMENT"));
}

TEST_F(WebhookQueueTest, ASlowHookHoldsUpNeitherPostNorTheEnd) {
  std::atomic<bool> called = false;
  const Hook hook([&](int fd) {
    called = true;
    char byte;
    while (recv(fd, &byte, 1, 0) > 0) {  // until it is given up
    }
  });
  WebhookOptions options = {Loopback()};
  options.waiting_max = 2;
  options.time_ms = 3'600'000;
  WebhookQueue queue(options, Told());
  queue.Post(hook.Text(), "{}");
  for (int i = 0; i < 1000 && !called; ++i) usleep(10'000);
  for (int i = 0; i < 3; ++i) queue.Post(hook.Text(), "{}");
  EXPECT_THAT(WaitForTold(1), ElementsAre("http://127.0.0.1: RESOURCE_EXHAUSTED")) << "two wait, the third is dropped";
  queue.Stop();
  EXPECT_EQ(WaitForTold(4).size(), 4u) << "the rest is told as given up";
}

}  // namespace
}  // namespace paritect
