#include "formats/weights/facts_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

TEST(FactsAsSettings, ArgumentsAndWhatAnOptimizerWasSetTo) {
  StoredTensors source("torch-zip");
  source.AddFact("args.num_layers", IntegerValue(12));
  source.AddFact("args.optimizer", TextValue("adam"));
  source.AddFact("optimizer.param_groups.0.lr", RealValue(0.001));
  source.AddFact("optimizer.param_groups.0.initial_lr", RealValue(0.01));
  source.AddFact("optimizer.param_groups.1.eps", RealValue(1));
  source.AddFact("iteration", IntegerValue(7));
  v1::Value betas;
  *betas.mutable_list()->add_items() = RealValue(0.9);
  *betas.mutable_list()->add_items() = RealValue(0.95);
  source.AddFact("optimizer.param_groups.0.betas", betas);
  const v1::SettingsDocument document = FactsAsSettings(source.about(), "model.pt");
  std::vector<std::string> lines;
  for (const v1::Setting& setting : document.settings())
    lines.push_back(absl::StrCat(setting.raw_key(), "=", setting.raw_value()));
  EXPECT_THAT(lines, ::testing::ElementsAre("num_layers=12", "optimizer=adam", "lr=0.01", "betas=[0.9, 0.95]"));
}

}  // namespace
}  // namespace paritect
