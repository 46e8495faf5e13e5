// migrated.mixed-precision.mode-files: the files that the precision options name say the same on all nodes (and on the
// baseline, where that has NPUs too), are well formed, and may stand together with the mode in effect.
// Sources: pre-tuning checklist, 在NPU上正确使能混合精度; TF Adapter, accuracy_tuning.md (modify_mixlist only with a
// mixed mode, customize_dtypes without effect under origin, op_precision_mode excludes op_select_implmode).
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/compare.h"
#include "checks/settings/mode_files.h"
#include "checks/settings/platform.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kEntriesShown = 10;

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result, const SettingsView& view)
      : context_(context), result_(result), view_(view) {}

  void Combination() {
    const EffectiveValue* mode = view_.Find("precision_mode_v2");
    if (mode == nullptr || (mode->value.source == SettingSource::kDefault && view_.FindStated("precision_mode")))
      mode = view_.Find("precision_mode");
    Mixlist(mode);
    if (const EffectiveValue* types = view_.FindStated("customize_dtypes"); types != nullptr && mode != nullptr) {
      const std::string value = ValueToText(mode->value.value);
      if (value == "origin" || value == "must_keep_origin_dtype") {
        Add(v1::SEVERITY_WARNING, "customize_dtypes_ineffective", "customize_dtypes", *types, *mode);
      }
    }
    const EffectiveValue* implementation = view_.FindStated("op_select_implmode");
    const EffectiveValue* by_operator = view_.FindStated("op_precision_mode");
    if (by_operator != nullptr && implementation != nullptr && !ValueToText(implementation->value.value).empty()) {
      Add(v1::SEVERITY_WARNING, "options_exclude", "op_select_implmode", *by_operator, *implementation);
    }
    const EffectiveValue* types = view_.FindStated("optypelist_for_implmode");
    if (types != nullptr && implementation == nullptr) {
      Add(v1::SEVERITY_ERROR, "option_needs_other", "optypelist_for_implmode", *types, *types);
    }
  }

  // Form and content of one file.
  void File(const ModeFile& file) {
    if (file.document == nullptr) {
      AddMissing(context_, result_, "mode_file_not_given", file.node,
                 {{"option", file.option}, {"path", StrCat(file.path, " (", file.option_origin, ")")}});
      return;
    }
    std::vector<std::string> wrong;
    std::vector<std::string> low;
    for (const v1::Setting& setting : file.document->settings()) One(file, setting, wrong, low);
    if (file.option == "modify_mixlist") TwoLists(*file.document, wrong);
    const MessageArgs args = {{"file", file.source}, {"option", file.option}, {"what", absl::StrJoin(wrong, ", ")}};
    if (!wrong.empty()) AddError(context_, result_, "mode_file_malformed", file.source, args).add_evidence(file.source);
    if (!low.empty()) {
      AddWarning(context_, result_, "low_precision_operators", file.source,
                 {{"file", file.source}, {"operators", absl::StrJoin(low, ", ")}})
          .add_evidence(file.source);
    }
  }

 private:
  void Mixlist(const EffectiveValue* mode) {
    const EffectiveValue* list = view_.FindStated("modify_mixlist");
    if (list == nullptr) return;
    if (mode == nullptr) {
      AddMissing(context_, result_, "precision_default_unknown", view_.run_name(),
                 {{"framework", view_.framework()}, {"product", view_.product()}});
      return;
    }
    const std::string option = mode->value.raw_key;
    const std::string value = ValueToText(mode->value.value);
    const Products& products = context_.rules.products;
    const PrecisionValue* known = products.FindPrecisionValue("precision_mode_v2", value);
    if (known == nullptr) known = products.FindPrecisionValue("precision_mode", value);
    if (known == nullptr || !known->mixed) {
      Add(v1::SEVERITY_ERROR, "mixlist_without_mixed_mode", "modify_mixlist", *list, *mode);
    }
  }

  void One(const ModeFile& file, const v1::Setting& setting, std::vector<std::string>& wrong,
           std::vector<std::string>& low) {
    const absl::string_view key = setting.raw_key();
    if (file.option == "modify_mixlist") {
      static constexpr absl::string_view kKeys[] = {"black-list.to-add", "black-list.to-remove",
                                                    "white-list.to-add", "white-list.to-remove",
                                                    "gray-list.to-add",  "gray-list.to-remove"};
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) wrong.emplace_back(key);
    } else if (file.option == "op_precision_mode") {
      static constexpr absl::string_view kLow[] = {"keep_fp16", "super_performance", "high_performance"};
      static constexpr absl::string_view kOther[] = {"high_precision", "enable_float_32_execution",
                                                     "enable_hi_float_32_execution", "support_out_of_bound_index"};
      const std::string& value = setting.raw_value();
      if (!absl::StartsWith(key, "op_precision.By")) {
        wrong.emplace_back(key);
      } else if (std::find(std::begin(kLow), std::end(kLow), value) != std::end(kLow)) {
        low.push_back(StrCat(key.substr(13), "=", value));
      } else if (std::find(std::begin(kOther), std::end(kOther), value) == std::end(kOther)) {
        wrong.push_back(StrCat(key, "=", value));
      }
    } else if (!absl::StartsWith(key, "custom_dtypes.")) {
      wrong.emplace_back(key);
    }
  }

  // An operator cannot be in the black list and in the white list at once.
  static void TwoLists(const v1::SettingsDocument& document, std::vector<std::string>& wrong) {
    std::map<std::string, std::set<std::string>> added;
    for (const v1::Setting& setting : document.settings()) {
      if (!absl::EndsWith(setting.raw_key(), ".to-add")) continue;
      for (const v1::Value& item : setting.value().list().items()) {
        added[ValueToText(item)].insert(setting.raw_key());
      }
    }
    for (const auto& [name, lists] : added) {
      if (lists.size() > 1) wrong.push_back(StrCat(name, ": ", absl::StrJoin(lists, " + ")));
    }
  }

  void Add(v1::Severity severity, absl::string_view message, absl::string_view subject, const EffectiveValue& option,
           const EffectiveValue& other) {
    v1::Finding& finding = AddFinding(context_, result_, severity, message, subject,
                                      {{"option", StrCat(option.value.raw_key, "=", option.value.text)},
                                       {"other", StrCat(other.value.raw_key, "=", other.value.text)}});
    finding.set_migrated(StrCat(ShowValue(option.value), "; ", ShowValue(other.value)));
    finding.add_evidence(option.value.origin);
    if (&option != &other) finding.add_evidence(other.value.origin);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const SettingsView& view_;
};

void AddDifference(const CheckContext& context, v1::CheckResult& result, const ModeFile& a, const ModeFile& b,
                   const std::string& who_a, const std::string& who_b) {
  std::size_t only_a = 0;
  std::size_t only_b = 0;
  const std::string left = OnlyIn(a.entries, b.entries, kEntriesShown, only_a);
  const std::string right = OnlyIn(b.entries, a.entries, kEntriesShown, only_b);
  v1::Finding& finding = AddError(context, result, "mode_file_differs", a.option,
                                  {{"option", a.option},
                                   {"a", StrCat(who_a, ": ", left.empty() ? "-" : left)},
                                   {"b", StrCat(who_b, ": ", right.empty() ? "-" : right)}});
  SetFact(finding, "only_first", static_cast<std::int64_t>(only_a));
  SetFact(finding, "only_second", static_cast<std::int64_t>(only_b));
  finding.add_evidence(a.source);
  finding.add_evidence(b.source);
}

// Node against node of one run: the first that gives the file is held against the others.
void CompareNodes(const CheckContext& context, v1::CheckResult& result, const std::vector<ModeFile>& files) {
  std::map<std::string, const ModeFile*> first;
  for (const ModeFile& file : files) {
    if (file.document == nullptr) continue;
    auto [it, added] = first.try_emplace(file.option, &file);
    if (!added && it->second->entries != file.entries) {
      AddDifference(context, result, *it->second, file, it->second->node, file.node);
    }
  }
}

const ModeFile* Given(const std::vector<ModeFile>& files, absl::string_view option) {
  for (const ModeFile& file : files) {
    if (file.option == option && file.document != nullptr) return &file;
  }
  return nullptr;
}

bool Names(const std::vector<ModeFile>& files, absl::string_view option) {
  for (const ModeFile& file : files) {
    if (file.option == option) return true;
  }
  return false;
}

// Only a baseline on NPUs has such files; on GPUs there is nothing that corresponds to them.
void CompareSides(const CheckContext& context, v1::CheckResult& result, const std::vector<ModeFile>& baseline,
                  const std::vector<ModeFile>& migrated, bool baseline_on_npu) {
  for (const char* option : {"modify_mixlist", "customize_dtypes", "op_precision_mode"}) {
    const ModeFile* a = Given(baseline, option);
    const ModeFile* b = Given(migrated, option);
    if (a != nullptr && b != nullptr && a->entries != b->entries) {
      AddDifference(context, result, *a, *b, std::string(SideName(Side::kBaseline)),
                    std::string(SideName(Side::kMigrated)));
    }
    if (!baseline_on_npu || Names(baseline, option) == Names(migrated, option)) continue;
    AddError(context, result, "mode_file_one_sided", option,
             {{"option", option},
              {"side", std::string(SideName(Names(baseline, option) ? Side::kBaseline : Side::kMigrated))}});
  }
}

// Whether what was read would show the options, had they been set.
bool OptionsWouldShow(const SettingsView& view) {
  return view.HasFormat("session-config") || view.HasFormat("mindformers-yaml");
}

void NothingNamed(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  if (view.framework() == "pytorch") {
    AddNote(context, result, "not_applicable", view.run_name(), {{"why", "PyTorch: no precision option names a file"}});
  } else if (OptionsWouldShow(view)) {
    AddNote(context, result, "not_applicable", view.run_name(), {{"why", "the configuration names no mode file"}});
  } else {
    AddMissing(context, result, "mode_files_unknown", view.run_name(), {{"run", view.run_name()}});
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  RequireSettings(context, result, Side::kMigrated);
  std::vector<ModeFile> baseline;
  bool baseline_on_npu = false;
  for (const RunView& run : context.evidence.Runs(Side::kBaseline)) {
    if (!baseline.empty()) break;
    const Platform platform = PlatformOf(context.rules, run);
    baseline_on_npu = platform.family != nullptr && platform.family->npu;
    baseline = ModeFilesOf(SettingsView::Of(context, Side::kBaseline, run), run);
  }
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    const SettingsView& view = SettingsView::Of(context, Side::kMigrated, run);
    if (view.empty()) continue;
    const std::vector<ModeFile> files = ModeFilesOf(view, run);
    Judge judge(context, result, view);
    judge.Combination();
    for (const ModeFile& file : files) judge.File(file);
    CompareNodes(context, result, files);
    CompareSides(context, result, baseline, files, baseline_on_npu);
    if (files.empty() && baseline.empty()) {
      NothingNamed(context, result, view);
    } else if (!files.empty()) {
      std::vector<std::string> told;
      for (const ModeFile& file : files) told.push_back(StrCat(file.option, "=", file.path));
      AddNote(context, result, "measured/mode_files", view.run_name(), {{"files", absl::StrJoin(told, ", ")}});
    }
  }
}

}  // namespace

extern const Check kPrecisionModeFiles;
const Check kPrecisionModeFiles = {"migrated.mixed-precision.mode-files", {}, &Evaluate};

}  // namespace paritect
