#include "common/arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "common/nearest.h"

namespace paritect {

struct Arguments::Impl {
  CLI::App app;
  std::vector<std::string>* rest = nullptr;
  bool list_options = false;

  // "did you mean" for the first option that is not declared.
  std::string SuggestOption(const std::vector<std::string>& args) const {
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const std::string& arg : args) {
      const std::string name = arg.substr(0, arg.find('='));
      if (name.size() < 3 || name.compare(0, 2, "--") != 0) continue;
      if (std::find(known.begin(), known.end(), name) == known.end()) return DidYouMean(name, known);
    }
    return "";
  }
};

Arguments::Arguments(absl::string_view command, absl::string_view description) : impl_(std::make_unique<Impl>()) {
  impl_->app.name(std::string(command));
  impl_->app.description(std::string(description));
  impl_->app.set_help_flag("-h,--help", "print this help");
  impl_->app.allow_windows_style_options(false);
}

Arguments::~Arguments() = default;

void Arguments::Flag(absl::string_view name, bool& slot, absl::string_view help) {
  impl_->app.add_flag(std::string(name), slot, std::string(help));
}

void Arguments::Text(absl::string_view name, std::string& slot, absl::string_view help, bool required) {
  impl_->app.add_option(std::string(name), slot, std::string(help))->required(required);
}

void Arguments::Texts(absl::string_view name, std::vector<std::string>& slot, absl::string_view help, bool required) {
  CLI::Option* option = impl_->app.add_option(std::string(name), slot, std::string(help))->required(required);
  if (!name.empty() && name.front() == '-') {
    option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

void Arguments::Int(absl::string_view name, int& slot, absl::string_view help) {
  impl_->app.add_option(std::string(name), slot, std::string(help));
}

void Arguments::Rest(std::vector<std::string>& slot) {
  impl_->rest = &slot;
  impl_->app.prefix_command();
}

absl::StatusOr<bool> Arguments::Parse(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kListOptions) {
    impl_->list_options = true;
    return false;
  }
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    impl_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(std::string(error.what()) + impl_->SuggestOption(args));
  }
  if (impl_->rest != nullptr) *impl_->rest = impl_->app.remaining();
  return true;
}

std::string Arguments::help() const {
  if (!impl_->list_options) return impl_->app.help();
  std::string lines;
  for (const CLI::Option* option : impl_->app.get_options()) {
    for (const std::string& name : option->get_snames()) lines += "-" + name + "\t" + option->get_description() + "\n";
    for (const std::string& name : option->get_lnames()) lines += "--" + name + "\t" + option->get_description() + "\n";
  }
  return lines;
}

}  // namespace paritect
