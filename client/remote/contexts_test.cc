#include "client/remote/contexts.h"

#include "client/remote/remote_fixture.h"

namespace paritect {
namespace {

using testing::HasSubstr;

class ContextsTest : public RemoteTest {
 protected:
  ContextsTest() {
    environment() = {{"HOME", "/home/chen"}};
    working_directory_ = "/proj/job/run1";
  }

  absl::StatusOr<CredentialPlace> Find(const RemoteArguments& remote = {}) {
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .getenv = [](absl::string_view name) { return environment()[std::string(name)]; },
                      .working_directory = working_directory_};
    return FindCredential(env, remote);
  }
  std::string PathOf(const RemoteArguments& remote = {}) {
    auto place = Find(remote);
    return place.ok() ? place->path : absl::StrCat("error: ", place.status().message());
  }
};

TEST_F(ContextsTest, FlagOverEnvironmentOverProjectOverUserOverMachine) {
  fs_.AddFile("/etc/paritect/config.yaml", "credential: /etc/paritect/site.credential\n");
  EXPECT_EQ(PathOf(), "/etc/paritect/site.credential");
  fs_.AddFile("/home/chen/.config/paritect/config.yaml",
              "contexts: {prod: prod.credential, lab: ~/lab.cred}\ncurrent: prod\n");
  EXPECT_EQ(PathOf(), "/home/chen/.config/paritect/prod.credential");
  fs_.AddFile("/proj/paritect.yaml", "current: lab\n");  // two folders up; its context is the user's
  EXPECT_EQ(PathOf(), "/home/chen/lab.cred");
  fs_.AddFile("/proj/job/paritect.yaml", "credential: keys/job.credential\n");  // the nearest one counts
  EXPECT_EQ(PathOf(), "/proj/job/keys/job.credential");
  environment()["PARITECT_CONTEXT"] = "prod";
  EXPECT_EQ(PathOf(), "/home/chen/.config/paritect/prod.credential");
  environment()["PARITECT_CREDENTIAL"] = "/env.credential";
  EXPECT_EQ(PathOf(), "/env.credential");
  EXPECT_EQ(PathOf({.context = "lab"}), "/home/chen/lab.cred");
  EXPECT_EQ(PathOf({.credential = "flag.credential"}), "flag.credential");
}

TEST_F(ContextsTest, XdgConfigHomeTakesThePlaceOfDotConfig) {
  environment()["XDG_CONFIG_HOME"] = "/xdg";
  fs_.AddFile("/home/chen/.config/paritect/config.yaml", "credential: /no\n");
  fs_.AddFile("/xdg/paritect/config.yaml", "credential: yes.credential\n");
  EXPECT_EQ(PathOf(), "/xdg/paritect/yes.credential");
  environment()["XDG_CONFIG_HOME"] = "relative";  // to be ignored by its specification
  EXPECT_EQ(PathOf(), "/no");
}

TEST_F(ContextsTest, MistakesSayWhereAndWhatWouldBeRight) {
  EXPECT_THAT(PathOf(), HasSubstr("no server is named: give --credential FILE"));
  EXPECT_THAT(PathOf({.credential = "a", .context = "b"}), HasSubstr("exclude each other"));
  EXPECT_THAT(PathOf({.context = "prod"}), HasSubstr("no configuration file was found"));
  fs_.AddFile("/home/chen/.config/paritect/config.yaml", "contexts: {prod: prod.credential}\n");
  EXPECT_THAT(PathOf({.context = "prd"}), HasSubstr("did you mean 'prod'?"));
  EXPECT_THAT(PathOf({.context = "prd"}), HasSubstr("there are prod; read: /home/chen/.config"));
  fs_.AddFile("/proj/paritect.yaml", "credential: a\ncurent: b\n");
  EXPECT_THAT(PathOf(), HasSubstr("error: /proj/paritect.yaml:2:1: unknown key 'curent'"));
  fs_.AddFile("/proj/paritect.yaml", "credential: a\ncurrent: prod\n");
  EXPECT_THAT(PathOf(), HasSubstr("`credential` and `current` exclude each other"));
  fs_.AddFile("/proj/paritect.yaml", "contexts: [a]\n");
  EXPECT_THAT(PathOf(), HasSubstr("/proj/paritect.yaml:1:11: `contexts` must be a map"));
  fs_.AddFile("/proj/paritect.yaml", "current: nowhere\n");
  EXPECT_THAT(PathOf(), HasSubstr("/proj/paritect.yaml: current: there is no context 'nowhere'"));
}

TEST_F(ContextsTest, WhatIsNotAskedIsNotRead) {
  fs_.AddFile("/proj/paritect.yaml", "{damaged");
  EXPECT_EQ(PathOf({.credential = "x"}), "x");
  environment()["PARITECT_CREDENTIAL"] = "y";
  EXPECT_EQ(PathOf(), "y");
}

}  // namespace
}  // namespace paritect
