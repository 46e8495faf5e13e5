// model.hyperparameters.conventions and network.definition.*.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

v1::SettingsDocument Model(const KeysAndTexts& values) {
  return SettingsOf("model", "model", values);
}

std::string Judge(absl::string_view check, const KeysAndTexts& torch, const KeysAndTexts& other,
                  const std::string& framework = "mindspore") {
  return Verdict(check, {Gpu({Model(torch)})}, {Npu({Model(other)}, framework)});
}

TEST(NetworkDefinition, BatchNormMomentumIsOneMinus) {
  const char kCheck[] = "network.definition.batchnorm-momentum";
  EXPECT_EQ(Judge(kCheck, {{"batchnorm.momentum", "0.1"}}, {{"batchnorm.momentum", "0.9"}}), "pass");
  // As a float32 of 0.9 prints.
  EXPECT_EQ(Judge(kCheck, {{"batchnorm.momentum", "0.1"}}, {{"batchnorm.momentum", "0.8999999761581421"}}), "pass");
  EXPECT_EQ(Judge(kCheck, {{"batchnorm.momentum", "0.1"}}, {{"batchnorm.momentum", "0.1"}}),
            "fail: convention_differs batchnorm_momentum");
  EXPECT_EQ(Judge(kCheck, {{"batchnorm.momentum", "0.1"}}, {{"dropout.p", "0.1"}}), "not_performed: !npu");
  // The same framework on both sides: the question does not arise.
  EXPECT_EQ(Judge(kCheck, {{"batchnorm.momentum", "0.1"}}, {{"batchnorm.momentum", "0.9"}}, "pytorch"), "pass");
  EXPECT_EQ(Judge(kCheck, {{"batchnorm.momentum", "0.1"}}, {{"batchnorm.momentum", "0.9"}}, ""), "not_performed: !npu");
}

TEST(NetworkDefinition, DropoutKeepsOrDrops) {
  const char kCheck[] = "network.definition.dropout";
  EXPECT_EQ(Judge(kCheck, {{"dropout.p", "0.1"}}, {{"dropout.keep_prob", "0.9"}}), "pass");
  EXPECT_EQ(Judge(kCheck, {{"dropout.p", "0.1"}}, {{"dropout.p", "0.1"}}), "pass");
  EXPECT_EQ(Judge(kCheck, {{"dropout.p", "0.1"}}, {{"dropout.keep_prob", "0.1"}}),
            "fail: convention_differs dropout_p");
  EXPECT_EQ(Judge(kCheck, {}, {{"dropout.p", "0.1"}}), "not_performed: !npu");
}

TEST(NetworkDefinition, OptimizerMomentumIsTheSameNumber) {
  const char kCheck[] = "network.definition.optimizer";
  EXPECT_EQ(Judge(kCheck, {{"optimizer.momentum", "0.9"}}, {{"optimizer.momentum", "0.9"}}), "pass");
  EXPECT_EQ(Judge(kCheck, {{"optimizer.momentum", "0.9"}}, {{"optimizer.momentum", "0.1"}}),
            "fail: convention_differs optimizer_momentum");
  EXPECT_EQ(Judge(kCheck, {{"optimizer.momentum", "0.9"}}, {{"dropout.p", "0.1"}}), "not_performed: !npu");
}

TEST(Conventions, AcrossFrameworks) {
  const char kCheck[] = "model.hyperparameters.conventions";
  const KeysAndTexts torch = {{"batchnorm.momentum", "0.1"}, {"batchnorm.eps", "1e-05"}};
  EXPECT_EQ(Judge(kCheck, torch, {{"batchnorm.momentum", "0.9"}, {"batchnorm.eps", "0.00001"}}, "tensorflow"), "pass");
  EXPECT_EQ(Judge(kCheck, torch, {{"batchnorm.momentum", "0.99"}, {"batchnorm.eps", "0.001"}}, "tensorflow"),
            "fail: convention_differs batchnorm_eps, convention_differs batchnorm_momentum");
  EXPECT_EQ(Judge(kCheck, torch, {{"batchnorm.momentum", "0.99"}}, "pytorch"), "pass");
  EXPECT_EQ(Judge(kCheck, {}, {}, "tensorflow"), "not_performed: !npu");
}

TEST(Conventions, EveryLayerIsCompared) {
  EXPECT_EQ(
      Judge("network.definition.batchnorm-momentum", {{"batchnorm.momentum", "0.1"}, {"batchnorm.momentum", "0.01"}},
            {{"batchnorm.momentum", "0.9"}, {"batchnorm.momentum", "0.99"}}),
      "pass");
  EXPECT_EQ(Judge("network.definition.batchnorm-momentum", {{"batchnorm.momentum", "0.1"}},
                  {{"batchnorm.momentum", "0.9"}, {"batchnorm.momentum", "0.99"}}),
            "fail: convention_differs batchnorm_momentum");
  // A value that only the baseline has is a difference too.
  EXPECT_EQ(Judge("network.definition.batchnorm-momentum",
                  {{"batchnorm.momentum", "0.1"}, {"batchnorm.momentum", "0.01"}}, {{"batchnorm.momentum", "0.9"}}),
            "fail: convention_differs batchnorm_momentum");
}

TEST(Conventions, SmallNumbersAreNoNoise) {
  const char kCheck[] = "model.hyperparameters.conventions";
  EXPECT_EQ(Judge(kCheck, {{"layernorm.eps", "1e-12"}}, {{"layernorm.eps", "1e-10"}}),
            "fail: convention_differs layernorm_eps");
  EXPECT_EQ(Judge(kCheck, {{"layernorm.eps", "1e-5"}}, {{"layernorm.eps", "9.999999747378752e-06"}}), "pass");
}

}  // namespace
}  // namespace paritect
