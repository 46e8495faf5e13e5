// Command-line options, declared once a command: name, place to put the value, help. A thin cover over
// CLI11, which throws and stays in arguments.cc.
#ifndef PARITECT_COMMON_ARGUMENTS_H_
#define PARITECT_COMMON_ARGUMENTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// As the only argument of a command: `help()` is a list of its options, "NAME<tab>help" a line, for `completion`.
inline constexpr absl::string_view kListOptions = "--list-options";

// Declares options, then parses once. Slots must outlive the parser.
class Arguments {
 public:
  // `command`: as the user types it ("paritect check").
  Arguments(absl::string_view command, absl::string_view description);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // `name`: "--lang", or "-o,--output"; a name without dashes is positional.
  void Flag(absl::string_view name, bool& slot, absl::string_view help);
  void Text(absl::string_view name, std::string& slot, absl::string_view help, bool required = false);
  // May be repeated; also takes several values at once only where it is positional.
  void Texts(absl::string_view name, std::vector<std::string>& slot, absl::string_view help, bool required = false);
  void Int(absl::string_view name, int& slot, absl::string_view help);
  // Everything after the declared options is kept as it is ("-- CMD ...").
  void Rest(std::vector<std::string>& slot);

  // OK with true: go on. OK with false: help was asked for; `help()` has the text. InvalidArgument: the
  // user's mistake, in words.
  absl::StatusOr<bool> Parse(const std::vector<std::string>& args);
  std::string help() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_ARGUMENTS_H_
