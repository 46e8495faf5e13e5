#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr absl::string_view kCheck = "migrated.mixed-precision.mode-files";

v1::SettingsDocument Session(const KeysAndTexts& options) {
  return SettingsOf("session-config", "session-config", options);
}
v1::SettingsDocument OperatorLines(const KeysAndTexts& by_type) {
  KeysAndTexts entries;
  for (const auto& [name, mode] : by_type) entries.push_back({absl::StrCat("op_precision.ByOpType.", name), mode});
  return SettingsOf("flags", "op-precision", entries);
}
v1::SettingsDocument Mixlist(const std::vector<std::pair<std::string, std::vector<std::string>>>& lists) {
  v1::SettingsDocument document = SettingsOf("json", "arguments", {});
  for (const auto& [key, names] : lists) {
    v1::Setting& setting = *document.add_settings();
    setting.set_raw_key(key);
    for (const std::string& name : names) setting.mutable_value()->mutable_list()->add_items()->set_text(name);
  }
  return document;
}

// A node whose session names `files`, each given under its name.
v1::Bundle Node(const std::string& node, const KeysAndTexts& options,
                std::vector<std::pair<std::string, v1::SettingsDocument>> files, const std::string& run = "npu",
                const std::string& platform = "atlas-a2") {
  v1::Bundle bundle = NodeOf(run, node, platform, "tensorflow", {Session(options)});
  for (auto& [name, document] : files) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(name);
    *evidence.mutable_settings() = std::move(document);
  }
  return bundle;
}
const v1::Bundle& Baseline() {
  static const v1::Bundle gpu = Gpu({Arguments("yaml", {{"lr", "1"}})}, "tensorflow");
  return gpu;
}

TEST(PrecisionModeFiles, CombinationsThatMayNotStand) {
  const auto list = Mixlist({{"black-list.to-add", {"Softmax"}}});
  const auto with = [&](const KeysAndTexts& options) {
    return Verdict(kCheck, {Baseline()}, {Node("n1", options, {{"cfg/mix.json", list}})});
  };
  EXPECT_EQ(with({{"precision_mode_v2", "mixed_float16"}, {"modify_mixlist", "/job/mix.json"}}), "pass");
  EXPECT_EQ(with({{"precision_mode", "allow_mix_precision"}, {"modify_mixlist", "/job/mix.json"}}), "pass");
  EXPECT_EQ(with({{"precision_mode_v2", "origin"}, {"modify_mixlist", "/job/mix.json"}}),
            "fail: mixlist_without_mixed_mode modify_mixlist");
  // Unset: what the product does by itself counts.
  EXPECT_EQ(with({{"modify_mixlist", "/job/mix.json"}}), "fail: mixlist_without_mixed_mode modify_mixlist");
  EXPECT_EQ(with({{"precision_mode_v2", "mixed_float16"}, {"modify_mixlist", "/job/lost.json"}}), "not_performed: !n1");
  EXPECT_EQ(with({{"optypelist_for_implmode", "Conv2D"}}), "fail: option_needs_other optypelist_for_implmode");
  EXPECT_EQ(with({{"precision_mode_v2", "origin"}}), "pass");  // names none
}

TEST(PrecisionModeFiles, OptionsWithoutEffectAreWarnings) {
  const auto types = SettingsOf("flags", "custom-dtypes", {{"custom_dtypes.OpType::Conv2D", "outputdtype:float16"}});
  EXPECT_EQ(Verdict(kCheck, {Baseline()},
                    {Node("n1", {{"precision_mode_v2", "origin"}, {"customize_dtypes", "d.cfg"}}, {{"d.cfg", types}})}),
            "pass: ~customize_dtypes_ineffective customize_dtypes");
  EXPECT_EQ(Verdict(kCheck, {Baseline()},
                    {Node("n1", {{"op_precision_mode", "o.ini"}, {"op_select_implmode", "high_precision"}},
                          {{"o.ini", OperatorLines({{"Conv2D", "high_precision"}})}})}),
            "pass: ~options_exclude op_select_implmode");
}

TEST(PrecisionModeFiles, ContentCountsNotTheName) {
  const KeysAndTexts named_a = {{"op_precision_mode", "/a/one.ini"}};
  const KeysAndTexts named_b = {{"op_precision_mode", "/b/two.ini"}};
  const auto high = OperatorLines({{"Conv2D", "high_precision"}, {"Sqrt", "high_precision"}});
  const auto turned = OperatorLines({{"Sqrt", "high_precision"}, {"Conv2D", "high_precision"}});
  const auto other = OperatorLines({{"Conv2D", "high_precision"}, {"Sqrt", "enable_float_32_execution"}});
  EXPECT_EQ(Verdict(kCheck, {Baseline()},
                    {Node("n1", named_a, {{"one.ini", high}}), Node("n2", named_b, {{"two.ini", turned}})}),
            "pass");
  EXPECT_EQ(Verdict(kCheck, {Baseline()},
                    {Node("n1", named_a, {{"one.ini", high}}), Node("n2", named_a, {{"one.ini", other}})}),
            "fail: mode_file_differs op_precision_mode");
  // Both sides on NPUs: the baseline's file counts too.
  const v1::Bundle npu = Node("b1", named_a, {{"one.ini", high}}, "base");
  EXPECT_EQ(Verdict(kCheck, {npu}, {Node("n1", named_b, {{"two.ini", other}})}),
            "fail: mode_file_differs op_precision_mode");
  EXPECT_EQ(Verdict(kCheck, {npu}, {Node("n1", {{"precision_mode_v2", "origin"}}, {})}),
            "fail: mode_file_one_sided op_precision_mode");
}

TEST(PrecisionModeFiles, MalformedFiles) {
  const KeysAndTexts mixed = {{"precision_mode_v2", "mixed_float16"}, {"modify_mixlist", "mix.json"}};
  const auto with = [&](const v1::SettingsDocument& list) {
    return Verdict(kCheck, {Baseline()}, {Node("n1", mixed, {{"mix.json", list}})});
  };
  EXPECT_EQ(with(Mixlist({{"blacklist.add", {"Softmax"}}})), "fail: mode_file_malformed mix.json");
  EXPECT_EQ(with(Mixlist({{"black-list.to-add", {"Add"}}, {"white-list.to-add", {"Add"}}})),
            "fail: mode_file_malformed mix.json");
  EXPECT_EQ(
      Verdict(kCheck, {Baseline()},
              {Node("n1", {{"op_precision_mode", "o.ini"}}, {{"o.ini", OperatorLines({{"Conv2D", "hi_precision"}})}})}),
      "fail: mode_file_malformed o.ini");
  EXPECT_EQ(Verdict(kCheck, {Baseline()},
                    {Node("n1", {{"op_precision_mode", "o.ini"}}, {{"o.ini", OperatorLines({{"Conv2D", "keep_fp16"}})}})}),
            "pass: ~low_precision_operators o.ini");
}

TEST(PrecisionModeFiles, NothingIsAssumedWhereNothingWasRead) {
  EXPECT_EQ(Verdict(kCheck, {Baseline()}, {Npu({Arguments("yaml", {{"lr", "1"}})}, "tensorflow")}),
            "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {Baseline()}, {WithUnreadable(Node("n1", {{"precision_mode_v2", "origin"}}, {}))}),
            "not_performed: !n1");
}

}  // namespace
}  // namespace paritect
