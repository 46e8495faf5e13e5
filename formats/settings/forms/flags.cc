// Flags as programs are given or print them, one a line: "--name=value", "--name value", "--[no]name", "-name=value"
// (absl, gflags, TF flag files and dumps, deepspeed --flagfile); and state of a library that somebody printed:
// "torch.backends.cuda.matmul.allow_tf32 = True", "torch.get_float32_matmul_precision(): high".
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr char kName[] = "flags";

bool IsKey(absl::string_view key, bool dotted) {
  if (key.empty() || !(absl::ascii_isalpha(static_cast<unsigned char>(key[0])) || key[0] == '_')) return false;
  for (char c : key) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains("_-.", c)) return false;
  }
  return !dotted || absl::StrContains(key, '.');
}

struct Flag {
  absl::string_view key;
  absl::string_view value;
};

// False where the line is no flag.
bool SplitFlag(absl::string_view line, Flag& flag) {
  line = absl::StripAsciiWhitespace(line);
  absl::ConsumeSuffix(&line, "\\");
  line = absl::StripTrailingAsciiWhitespace(line);
  const bool dashes = absl::ConsumePrefix(&line, "--") || absl::ConsumePrefix(&line, "-");
  const std::size_t end = line.find_first_of(dashes ? "= \t" : "=:");
  flag.key = absl::StripAsciiWhitespace(line.substr(0, end));
  absl::ConsumeSuffix(&flag.key, "()");
  if (!IsKey(flag.key, !dashes)) return false;
  if (end == absl::string_view::npos) {
    flag.value = "True";
    return dashes;
  }
  flag.value = absl::StripAsciiWhitespace(line.substr(end + 1));
  // "--name = value" too; another flag on the line makes it a command.
  absl::ConsumePrefix(&flag.value, "= ");
  return !absl::StrContains(flag.value, " --");
}

bool IsComment(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  return line.empty() || line[0] == '#' || absl::StartsWith(line, "//");
}

bool IsLibraryState(absl::string_view key) {
  for (absl::string_view start : {"torch.", "torch_npu.", "tf.", "tensorflow.", "mindspore.", "ge.", "jax."}) {
    if (absl::StartsWith(key, start)) return true;
  }
  return false;
}

int Sniff(absl::string_view head) {
  int flags = 0;
  int states = 0;
  int others = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    if (IsComment(line)) return;
    Flag flag;
    if (!SplitFlag(line, flag)) {
      ++others;
    } else if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "-")) {
      ++flags;
    } else {
      (IsLibraryState(flag.key) ? states : others) += 1;
    }
  });
  if (others > 0 || flags + states == 0) return 0;
  return states > 0 ? 70 : 65;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, kName, label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    Flag flag;
    if (IsComment(line) || !SplitFlag(line, flag)) return;
    const bool negated = flag.value == "True" && absl::StartsWith(flag.key, "no") && !absl::StrContains(line, '=');
    v1::Setting* setting = builder.Add(flag.key, flag.value, number);
    // absl's "--noname" is name=false; which of the two a name that begins with "no" is, only the program knows.
    if (setting != nullptr && negated && absl::StartsWith(flag.key, "no")) {
      builder.AddNote("perhaps_negated", number,
                      absl::StrCat("--", flag.key, " may stand for --", flag.key.substr(2), "=false"));
    }
  });
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kFlagsSettings;
const SettingsFormat kFlagsSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
