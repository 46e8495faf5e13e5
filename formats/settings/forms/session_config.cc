// TensorFlow ConfigProto as protobuf text: nested "name { ... }" and "name: value". The NPU optimizer's
// parameter_map entries {key: "precision_mode" value {s: "..."}} become settings of their own, under the option's
// name, as npu_bridge reads them. Format: protobuf text format; TF Adapter session configuration.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr std::size_t kDepthMax = 64;

int Sniff(absl::string_view head) {
  if (absl::StrContains(head, "parameter_map") && absl::StrContains(head, "{")) return 90;
  int words = 0;
  for (absl::string_view word :
       {"graph_options {", "rewrite_options {", "custom_optimizers {", "allow_soft_placement:", "gpu_options {",
        "intra_op_parallelism_threads:", "inter_op_parallelism_threads:", "session_config {"}) {
    words += absl::StrContains(head, word) ? 1 : 0;
  }
  return words >= 2 ? 85 : words == 1 && !absl::StrContains(head, "\"graph_options") ? 55 : 0;
}

struct Token {
  std::string text;
  bool quoted = false;
  std::int64_t line = 0;
};

// Words, quoted texts, and the signs { } < > : [ ] as tokens of one character.
class Tokens {
 public:
  explicit Tokens(absl::string_view text) : text_(text) {}

  bool Next(Token& token) {
    SkipBlanks();
    if (at_ >= text_.size()) return false;
    token = {"", false, line_};
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      token.quoted = true;
      for (++at_; at_ < text_.size() && text_[at_] != c; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        if (text_[at_] == '\n') ++line_;
        token.text.push_back(text_[at_]);
      }
      at_ = std::min(at_ + 1, text_.size());
      return true;
    }
    if (absl::StrContains("{}<>:[],;", c)) {
      token.text = c;
      ++at_;
      return true;
    }
    while (at_ < text_.size() && !absl::ascii_isspace(static_cast<unsigned char>(text_[at_])) &&
           !absl::StrContains("{}<>:[],;#", text_[at_])) {
      token.text.push_back(text_[at_++]);
    }
    return true;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  absl::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

class Reader {
 public:
  Reader(absl::string_view label) : builder_("session-config", "session-config", label) {}

  absl::StatusOr<v1::SettingsDocument> Read(absl::string_view text) {
    Tokens tokens(text);
    Token token;
    std::string name;
    bool value_next = false;
    while (tokens.Next(token)) {
      const bool sign = !token.quoted && token.text.size() == 1;
      if (sign && (token.text == "{" || token.text == "<")) {
        if (path_.size() >= kDepthMax)
          return absl::DataLossError(absl::StrCat("line ", token.line, ": nested too deep"));
        path_.push_back(name);
        value_next = false;
      } else if (sign && (token.text == "}" || token.text == ">")) {
        if (path_.empty()) return absl::DataLossError(absl::StrCat("line ", token.line, ": a bracket closes nothing"));
        path_.pop_back();
      } else if (sign && token.text == ":") {
        value_next = true;
      } else if (sign && absl::StrContains("[],;", token.text[0])) {
        continue;
      } else if (value_next) {
        Scalar(name, token);
        value_next = false;
      } else {
        name = token.text;
      }
    }
    if (!path_.empty()) return absl::DataLossError("cut off inside a bracket");
    return builder_.Finish();
  }

 private:
  void Scalar(const std::string& name, const Token& token) {
    const bool in_map = !path_.empty() && path_.back() == "parameter_map";
    const bool in_value = path_.size() >= 2 && path_.back() == "value" && path_[path_.size() - 2] == "parameter_map";
    if (in_map && name == "key") {
      parameter_ = token.text;
    } else if (in_value) {
      Add(parameter_, token);
    } else {
      std::vector<std::string> parts = path_;
      parts.push_back(name);
      Add(absl::StrJoin(parts, "."), token);
    }
  }

  void Add(const std::string& key, const Token& token) {
    if (token.quoted) {
      builder_.AddText(key, token.text, token.line);
    } else {
      builder_.Add(key, token.text, token.line);
    }
  }

  SettingsBuilder builder_;
  std::vector<std::string> path_;
  std::string parameter_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  return Reader(label).Read(text);
}

}  // namespace

extern const SettingsFormat kSessionConfigSettings;
const SettingsFormat kSessionConfigSettings = {"session-config", "session-config", &Sniff, &Parse};

}  // namespace paritect
