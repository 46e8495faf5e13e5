// Reports on an environment, "Key: value" a line: collect_env of torch and torch_npu, `transformers-cli env`,
// `llamafactory-cli env`, `accelerate env`, with the lists of packages, the CANN files and the npu-smi table that some
// of them quote.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "formats/settings/forms/packages.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

int Sniff(absl::string_view head) {
  const bool python = absl::StrContains(head, "Python version:");
  if (python && absl::StrContains(head, "PyTorch version")) return 97;
  return python && absl::StrContains(head, "` version:") ? 92 : 0;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_("collect-env", "packages", label) {}

  void Line(absl::string_view line, std::int64_t number) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "|") || absl::StartsWith(line, "+")) return;
    for (absl::string_view mark : {"[pip3] ", "[pip] ", "[conda] "}) {
      PackageLine package;
      if (!absl::ConsumePrefix(&line, mark)) continue;
      if (SplitPackageLine(line, package)) Package(package.name, package.version, number);
      return;
    }
    absl::ConsumePrefix(&line, "- ");
    const std::size_t colon = line.find(": ");
    if (colon == absl::string_view::npos) return VersionFile(line, number);
    Pair(absl::StripAsciiWhitespace(line.substr(0, colon)), absl::StripAsciiWhitespace(line.substr(colon + 2)), number);
  }

  void Append(const v1::SettingsDocument& other) {
    for (const v1::Setting& setting : other.settings()) {
      v1::Setting* one = builder_.AddText(setting.raw_key(), setting.raw_value(), 0);
      if (one != nullptr) *one = setting;
    }
  }

  v1::SettingsDocument Finish() { return builder_.Finish(); }

 private:
  void Package(absl::string_view name, absl::string_view version, std::int64_t number) {
    builder_.AddText(StrCat("package.", NormalisedPackageName(name)), version, number);
  }

  void Pair(absl::string_view key, absl::string_view value, std::int64_t number) {
    // "2.1.0+cu121 (True)", "2.1.0 (NPU)": what stands in brackets is said elsewhere.
    const absl::string_view version = value.substr(0, value.find(" ("));
    if (absl::StartsWith(key, "GPU models and configuration")) {
      const std::size_t name = value.find(": ");
      if (absl::StartsWith(value, "GPU ")) builder_.AddText("gpu.name", value.substr(name + 2), number);
    } else if (absl::StartsWith(key, "GPU ") && key.size() <= 7) {
      builder_.AddText("gpu.name", value, number);
    } else if (key == "NPU type" || key == "NPU name") {
      builder_.AddText("npu.name", value, number);
    } else if (absl::StartsWith(key, "PyTorch version")) {
      builder_.AddText("torch_version", version, number);
    } else if (key == "CANN version") {
      builder_.AddText("cann.toolkit.version", version, number);
    } else if (key == "Nvidia driver version") {
      builder_.AddText("driver.version", version, number);
    } else if (IsOtherPackage(key)) {
      Package(absl::StripSuffix(absl::StrReplaceAll(key, {{"`", ""}}), " version"), version, number);
    } else {
      builder_.AddText(absl::StrReplaceAll(absl::AsciiStrToLower(key), {{" ", "_"}}), value, number);
    }
  }

  // "`transformers` version", "Torch-npu version", "DeepSpeed version": one package; "GCC version" is not.
  static bool IsOtherPackage(absl::string_view key) {
    if (absl::StartsWith(key, "`") && absl::EndsWith(key, "` version")) return true;
    const std::string lower = absl::AsciiStrToLower(key);
    for (absl::string_view name : {"torch-npu", "torch_npu", "transformers", "datasets", "accelerate", "peft", "trl",
                                   "deepspeed", "bitsandbytes", "vllm", "huggingface_hub", "safetensors", "numpy"}) {
      if (lower == StrCat(name, " version")) return true;
    }
    return false;
  }

  // "package_name=Ascend-cann-toolkit", "version=8.0.RC1" of a CANN file that is quoted, in any order.
  void VersionFile(absl::string_view line, std::int64_t number) {
    const std::size_t equals = line.find('=');
    if (equals == absl::string_view::npos) return;
    const absl::string_view key = line.substr(0, equals);
    if (key == "package_name") package_ = std::string(line.substr(equals + 1));
    if (key == "version") version_ = {std::string(line.substr(equals + 1)), number};
    absl::string_view part = package_;
    if (version_.first.empty() || !absl::ConsumePrefix(&part, "Ascend-cann-")) return;
    builder_.AddText(StrCat("cann.", absl::AsciiStrToLower(part), ".version"), version_.first, version_.second);
    package_.clear();
    version_.first.clear();
  }

  SettingsBuilder builder_;
  std::string package_;
  std::pair<std::string, std::int64_t> version_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) { reader.Line(line, number); });
  if (absl::StrContains(text, "| npu-smi")) {
    auto devices = FindSettingsFormat("npu-smi")->parse(text, label);
    if (devices.ok()) reader.Append(*devices);
  }
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kCollectEnvSettings;
const SettingsFormat kCollectEnvSettings = {"collect-env", "packages", &Sniff, &Parse};

}  // namespace paritect
