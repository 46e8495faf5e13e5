#include "formats/python/script_reader.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "common/utf8.h"
#include "formats/python/api_calls.h"
#include "formats/python/calls.h"
#include "formats/python/expressions.h"
#include "formats/python/imports.h"
#include "formats/python/lookups.h"
#include "formats/python/machine.h"
#include "formats/python/process_proof.h"
#include "formats/python/script_uses.h"
#include "formats/python/statements.h"

namespace paritect {
namespace {

constexpr std::int64_t kStepsOfEntry = 6'000'000;
constexpr std::int64_t kStepsOfEntries = 20'000'000;  // of all together
constexpr std::int64_t kStepsOfTheRest = 3'000'000;
constexpr std::int64_t kStepsOfFunction = 100'000;
constexpr std::size_t kEntriesMax = 500;
constexpr std::size_t kFromMax = 32;
constexpr char kCodeKind[] = "code";  // no word of a report
constexpr std::size_t kTextBytesMax = 400;
constexpr std::size_t kThreadsMax = 8;
constexpr std::size_t kBytesOfThread = 256 << 10;  // below, a thread costs more than it saves

class Reader final : public ScriptMachine {
 public:
  Reader(const ScriptRules& known, std::vector<ScriptModule>& modules) : ScriptMachine(known, modules) {}

  ValueId Evaluate(NodeId expression) override { return EvaluateExpression(*this, expression); }
  Flow Execute(NodeId block) override { return ExecuteBlock(*this, block); }
  void Assign(NodeId target_node, ValueId value) override { AssignTo(*this, target_node, value); }
  ValueId Call(ValueId callee, const std::vector<CallArgument>& arguments, NodeId node) override {
    return CallValue(*this, callee, arguments, node);
  }
  ValueId Attribute(ValueId object, absl::string_view name) override { return AttributeOf(*this, object, name); }

  ValueId ImportModule(int number) override {
    if (module(number).scope < 0)
      RunModule(number, absl::StrReplaceAll(absl::StripSuffix(module(number).path, ".py"), {{"/", "."}}));
    ScriptValue value;
    value.kind = ValueKind::kModule;
    value.module = number;
    value.symbol = absl::StrCat("module ", module(number).path);
    return values.Add(std::move(value));
  }

  void RunModule(int number, const std::string& name) {
    if (frames().size() > 60) return;
    ScriptModule& of = module(number);
    of.scope = NewScope(-1, number);
    of.reached = of.reached || called;
    Frame frame;
    frame.module = number;
    frame.scope = of.scope;
    frames().push_back(std::move(frame));
    Set(of.scope, "__name__", values.Text(name));
    Execute(0);
    frames().pop_back();
  }

  // A run that begins in this file.
  void RunEntry(int number) {
    for (std::size_t i = 0; i < module_count(); ++i) {
      module(static_cast<int>(i)).scope = -1;
      module(static_cast<int>(i)).star_imports.clear();
    }
    flags = kNoValue;
    ForgetReplaced();
    every.clear();
    entry = number;
    RunModule(number, "__main__");
    ReadNetworks(*this);
  }

  // Functions and methods that nothing called.
  void RunTheRest() {
    called = false;
    entry = -1;
    for (std::size_t i = 0; i < module_count() && left_ > 0 && !full(); ++i) {
      const int number = static_cast<int>(i);
      if (module(number).scope < 0) Bounded([&] { RunModule(number, module(number).path); });
      for (const auto& [name, value] : NamesOf(module(number).scope)) RestOf(number, value);
    }
    rest_cut_ = left_ <= 0 || full();
  }

  bool cut() const { return cut_; }
  bool rest_cut() const { return rest_cut_; }
  void set_cut() { cut_ = true; }

 private:
  template <typename Run>
  void Bounded(Run run) {
    const std::int64_t steps = std::min(left_, kStepsOfFunction);
    Refill(steps);
    run();
    left_ -= steps - steps_left();
  }

  void RestOf(int number, ValueId value) {
    const ScriptValue of = values[value];
    if (of.module != number || left_ <= 0) return;
    Frame frame;
    frame.module = number;
    frame.scope = module(number).scope;
    frames().push_back(std::move(frame));
    if (of.kind == ValueKind::kFunction && !entered().contains({of.module, of.node})) {
      Bounded([&] { Call(value, {}, kNoNode); });
    } else if (of.kind == ValueKind::kClass) {
      std::vector<ValueId> methods;
      for (const auto& [name, method] : of.fields) {
        if (values[method].kind == ValueKind::kFunction &&
            !entered().contains({values[method].module, values[method].node}))
          methods.push_back(method);
      }
      if (!methods.empty()) {
        ValueId instance = kNoValue;
        const ValueId init = ClassAttribute(*this, value, "__init__");
        mute = init != kNoValue && entered().contains({values[init].module, values[init].node});
        Bounded([&] { instance = Call(value, {}, kNoNode); });
        mute = false;
        for (ValueId method : methods) {
          if (entered().contains({values[method].module, values[method].node}) || instance == kNoValue) continue;
          ScriptValue bound = values[method];
          if (bound.text != "staticmethod") bound.self = instance;
          const ValueId id = values.Add(std::move(bound));
          Bounded([&] { Call(id, {}, kNoNode); });
        }
      }
    }
    frames().pop_back();
  }

  std::int64_t left_ = kStepsOfTheRest;
  bool cut_ = false;
  bool rest_cut_ = false;
};

// --- which files a run begins in

bool EndsLikePath(absl::string_view path, absl::string_view end) {
  return absl::EndsWith(path, end) && (path.size() == end.size() || path[path.size() - end.size() - 1] == '/');
}

// The file that a command names: the longest agreement from the end counts.
int FindEntry(const std::vector<ScriptModule>& modules, absl::string_view entry) {
  std::string wanted(entry);
  if (!absl::EndsWith(wanted, ".py")) wanted = absl::StrCat(absl::StrReplaceAll(wanted, {{".", "/"}}), ".py");
  while (true) {
    int found = -1;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if (!EndsLikePath(modules[i].path, wanted)) continue;
      if (found < 0 || modules[i].path.size() < modules[static_cast<std::size_t>(found)].path.size())
        found = static_cast<int>(i);
    }
    const std::size_t slash = wanted.find('/');
    if (found >= 0 || slash == std::string::npos) return found;
    wanted = wanted.substr(slash + 1);
  }
}

// Whether the file runs something by itself: guarded by its name, or loops and calls at top level.
bool BeginsRun(const SyntaxTree& tree) {
  if (absl::StrContains(tree.source(), "__main__")) return true;
  for (NodeId child = tree[0].first; child != kNoNode; child = tree[child].next) {
    const Syntax kind = tree[child].kind;
    if (kind == Syntax::kFor || kind == Syntax::kWhile || kind == Syntax::kWith) return true;
    if (kind == Syntax::kExpressionStatement && tree[child].first != kNoNode &&
        tree[tree[child].first].kind == Syntax::kCall)
      return true;
  }
  return false;
}

// The notes of a run that may be one process: only where its entry is the file that the command names, word for word.
void AddProcessNote(const std::vector<ScriptModule>& modules, const ScriptOptions& options,
                    const std::vector<std::string>& unread, v1::ScriptTree& tree) {
  absl::string_view named = options.entry;
  while (absl::ConsumePrefix(&named, "./")) {
  }
  if (tree.entries_size() != 1 || named.empty() || !EndsLikePath(tree.entries(0), named)) return;
  const auto entry = std::find_if(modules.begin(), modules.end(),
                                  [&](const ScriptModule& module) { return module.path == tree.entries(0); });
  *tree.add_notes() =
      ProveOneProcess(modules, static_cast<int>(entry - modules.begin()), unread, BuiltInOneProcessRules());
}

// Takes what is only known to be there out of the files; sorted.
std::vector<std::string> TakeUnread(std::vector<ScriptSourceFile>& files) {
  std::vector<std::string> unread;
  for (const ScriptSourceFile& file : files) {
    if (!file.read) unread.push_back(file.path);
  }
  files.erase(std::remove_if(files.begin(), files.end(), [](const ScriptSourceFile& file) { return !file.read; }),
              files.end());
  std::sort(unread.begin(), unread.end());
  return unread;
}

std::vector<int> EntriesOf(const std::vector<ScriptModule>& modules, absl::string_view entry) {
  if (!entry.empty()) {
    const int found = FindEntry(modules, entry);
    if (found >= 0) return {found};
  }
  std::vector<int> entries;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (BeginsRun(modules[i].tree)) entries.push_back(static_cast<int>(i));
  }
  // A tree in which nothing runs by itself is a library, or a script that only sets things up.
  if (entries.empty()) {
    for (std::size_t i = 0; i < modules.size(); ++i) entries.push_back(static_cast<int>(i));
  }
  return entries;
}

bool Trains(const MachineFact& fact) {
  return fact.kind == "backward" || fact.kind == "fit" || fact.kind == "train_step" || fact.kind == "engine_step";
}

// --- the message

bool Explains(absl::string_view kind) {
  return absl::StartsWith(kind, "host") || kind == "rank" || kind == "world_size" || kind == "device_count" ||
         kind == "listing" || kind == "list_files" || kind == "transform";
}

class Writer {
 public:
  Writer(Reader& reader, std::vector<ScriptModule>& modules, v1::ScriptTree& tree)
      : reader_(reader), modules_(modules), tree_(tree) {}

  void Facts() {
    const std::vector<std::string> uses = UsesOfFacts(reader_);
    for (std::size_t i = 0; i < reader_.facts().size(); ++i) Fact(reader_.facts()[i], uses[i]);
    for (std::size_t i = 0; i < reader_.loops().size(); ++i) {
      const MachineLoop& loop = reader_.loops()[i];
      v1::ScriptLoop& out = *tree_.add_loops();
      out.set_number(static_cast<std::int32_t>(i));
      out.set_over(DisplayBytes(loop.over));
      out.mutable_made_of()->Add(loop.made_of.begin(), loop.made_of.end());
      out.set_file(PathOf(loop.module));
      out.set_line(loop.line);
    }
  }

  // Code that no fact tells stands behind the facts, so that their numbers are theirs alone.
  void Codes() {
    const std::vector<std::string> uses = UsesOfCodes(reader_);
    for (std::size_t i = 0; i < reader_.codes().size(); ++i) {
      const MachineCode& code = reader_.codes()[i];
      v1::ScriptFact& out = *tree_.add_facts();
      out.set_kind(kCodeKind);
      out.set_name(DisplayBytes(code.text));
      out.set_file(PathOf(code.module));
      out.set_line(code.line);
      out.set_function(DisplayBytes(code.function));
      out.set_called(true);
      out.set_use(uses[i]);
      out.set_entry(PathOf(code.entry));
      out.set_conditional(code.conditional);
      if (code.of_network) out.set_layer("network");
      out.mutable_loops()->Add(code.loops.begin(), code.loops.end());
      out.mutable_contexts()->Add(code.contexts.begin(), code.contexts.end());
      v1::ScriptArgument& place = *out.add_arguments();
      place.set_name("place");
      place.set_symbol(DisplayBytes(code.place));
      if (!code.package.empty()) {
        v1::ScriptArgument& package = *out.add_arguments();
        package.set_name("package");
        package.set_symbol(DisplayBytes(code.package));
      }
      v1::ScriptArgument& times = *out.add_arguments();
      times.set_name("times");
      times.mutable_value()->set_integer(code.times);
      v1::ScriptArgument& behind = *out.add_arguments();
      behind.set_name("behind");
      behind.mutable_value()->set_integer(code.behind);
    }
  }

  // Why what was read is not all that runs, each place once.
  void Doubts() {
    std::set<std::string> told;
    for (const MachineDoubt& doubt : reader_.doubts()) {
      const std::string place = absl::StrCat(PathOf(doubt.module), ":", doubt.line);
      if (!told.insert(absl::StrCat(doubt.kind, place)).second) continue;
      v1::Note& note = *tree_.add_notes();
      note.set_kind(doubt.kind);
      note.set_line(doubt.line);
      note.set_message(DisplayBytes(DoubtText(doubt, place)));
    }
  }

  void Files() {
    for (const ScriptModule& module : modules_) {
      v1::ScriptFile& file = *tree_.add_files();
      file.set_path(module.path);
      file.set_sha256(module.sha256);
      file.set_code_sha256(module.code_sha256);
      file.set_reached(module.reached);
      for (std::uint32_t line : module.tree.unread_lines()) file.add_unread_lines(line);
      if (module.tree.cut()) file.set_why_unread("too large");
      if (!module.tree.unread_lines().empty()) file.set_why_unread("syntax");
      for (const SyntaxComment& comment : module.tree.comments()) Waiver(comment, file);
      if (!file.why_unread().empty()) Note(file);
    }
  }

 private:
  std::string PathOf(int module) const { return module < 0 ? "" : modules_[static_cast<std::size_t>(module)].path; }

  void Fact(const MachineFact& fact, const std::string& use) {
    v1::ScriptFact& out = *tree_.add_facts();
    out.set_kind(fact.kind);
    out.set_name(DisplayBytes(fact.name));
    out.set_framework(fact.framework);
    out.set_layer(fact.layer);
    out.set_file(PathOf(fact.module));
    out.set_line(fact.line);
    out.set_function(DisplayBytes(fact.function));
    out.set_target(DisplayBytes(fact.target));
    out.set_conditional(fact.conditional);
    out.set_called(fact.called);
    out.set_use(use);
    out.set_mode(fact.mode);
    out.set_object(fact.object + 1);
    out.set_entry(PathOf(fact.entry));
    out.mutable_made_of()->Add(fact.made_of.begin(), fact.made_of.end());
    out.mutable_loops()->Add(fact.loops.begin(), fact.loops.end());
    out.mutable_contexts()->Add(fact.contexts.begin(), fact.contexts.end());
    for (const FactArgument& one : fact.arguments) Argument(one, fact, *out.add_arguments());
    if (fact.arguments.empty() && !fact.unsorted.empty()) out.add_arguments()->set_name("object");
    if (!fact.unsorted.empty()) {
      auto& unsorted = *out.mutable_arguments(0)->mutable_unsorted();
      unsorted.Clear();
      unsorted.Add(fact.unsorted.begin(), fact.unsorted.end());
    }
  }

  void Argument(const FactArgument& one, const MachineFact&, v1::ScriptArgument& out) {
    out.set_name(DisplayBytes(one.name));
    out.set_text(DisplayBytes(one.text));
    out.set_is_default(one.is_default);
    if (one.value == kNoValue) return;
    v1::Value value;
    if (reader_.values.ToProto(one.value, value)) *out.mutable_value() = std::move(value);
    out.set_symbol(DisplayBytes(reader_.values.SymbolOf(one.value).substr(0, kTextBytesMax)));
    out.set_option(DisplayBytes(reader_.values[one.value].option));
    const std::uint8_t traits = reader_.values.AllTraits(one.value);
    out.set_follows_host((traits & kFollowsHost) != 0);
    out.set_follows_rank((traits & kFollowsRank) != 0);
    for (std::int32_t fact : reader_.values.AllFacts(one.value)) {
      if (!Explains(reader_.facts()[static_cast<std::size_t>(fact)].kind)) continue;
      if (static_cast<std::size_t>(out.from_size()) < kFromMax) out.add_from(fact);
    }
    const std::vector<std::int32_t> unsorted = reader_.values.AllUnsorted(one.value);
    out.mutable_unsorted()->Add(unsorted.begin(), unsorted.end());
  }

  static std::string DoubtText(const MachineDoubt& doubt, const std::string& place) {
    if (doubt.kind == "module_absent")
      return absl::StrCat(place, " imports ", doubt.what, ", a module of the project that was not given");
    if (doubt.kind == "script_patched")
      return absl::StrCat(place, " puts a function of its own in the place of ", doubt.what);
    if (doubt.kind == "changed_later")
      return absl::StrCat(place, " sets ", doubt.what, " of an object that others were made of before");
    return absl::StrCat(place, " runs code that is made as the script runs: ", doubt.what);
  }

  // "# paritect: allow unsorted_listing: counted only"
  static void Waiver(const SyntaxComment& comment, v1::ScriptFile& file) {
    absl::string_view text = comment.text;
    while (absl::ConsumePrefix(&text, "#")) {
    }
    text = absl::StripAsciiWhitespace(text);
    if (!absl::ConsumePrefix(&text, "paritect:")) return;
    text = absl::StripLeadingAsciiWhitespace(text);
    if (!absl::ConsumePrefix(&text, "allow ")) return;
    const std::size_t colon = text.find(':');
    v1::ScriptWaiver& waiver = *file.add_waivers();
    waiver.set_line(comment.line);
    waiver.set_kind(DisplayBytes(absl::StripAsciiWhitespace(text.substr(0, colon))));
    if (colon != absl::string_view::npos)
      waiver.set_reason(DisplayBytes(absl::StripAsciiWhitespace(text.substr(colon + 1))));
  }

  void Note(const v1::ScriptFile& file) {
    v1::Note& note = *tree_.add_notes();
    note.set_kind("unreadable_script");
    if (file.unread_lines_size() > 0) note.set_line(file.unread_lines(0));
    note.set_message(file.why_unread() == "syntax" ? absl::StrCat(file.path(), ": line ", file.unread_lines(0),
                                                                  " cannot be parsed; the rest was read")
                                                   : absl::StrCat(file.path(), ": too large to be read whole"));
  }

  Reader& reader_;
  std::vector<ScriptModule>& modules_;
  v1::ScriptTree& tree_;
};

// Parses the files, several beside each other: each by itself, so that nothing depends on which is done first.
std::vector<ScriptModule> ParseAll(std::vector<ScriptSourceFile> files) {
  std::vector<ScriptModule> modules(files.size());
  std::size_t bytes = 0;
  for (const ScriptSourceFile& file : files) bytes += file.text.size();
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      modules[i].path = std::move(files[i].path);
      modules[i].tree = ParsePython(std::move(files[i].text));
      modules[i].sha256 = Sha256(modules[i].tree.source());
      modules[i].code_sha256 = Sha256(modules[i].tree.CodeOf(0));
    }
  };
  const std::size_t useful = std::min({bytes / kBytesOfThread, files.size(), kThreadsMax});
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(useful, std::thread::hardware_concurrency()); ++i)
    others.emplace_back(work);
  work();
  for (std::thread& one : others) one.join();
  return modules;
}

}  // namespace

v1::ScriptTree ReadScripts(std::vector<ScriptSourceFile> files, const ScriptOptions& options,
                           const ScriptRules& rules) {
  const std::vector<std::string> unread = TakeUnread(files);
  std::sort(files.begin(), files.end(),
            [](const ScriptSourceFile& a, const ScriptSourceFile& b) { return a.path < b.path; });
  std::vector<ScriptModule> modules = ParseAll(std::move(files));
  v1::ScriptTree tree;
  Reader reader(rules, modules);
  reader.command_line = options.command_line;
  reader.command_line_known = options.command_line_known;
  reader.values.options_known = options.command_line_known;
  const std::vector<int> entries = EntriesOf(modules, options.entry);
  std::int64_t left = kStepsOfEntries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i >= kEntriesMax || left <= 0) {
      reader.set_cut();
      break;
    }
    const std::size_t before = reader.facts().size();
    const std::int64_t steps = std::min(kStepsOfEntry, left);
    reader.Refill(steps);
    reader.RunEntry(entries[i]);
    left -= steps - reader.steps_left();
    if (reader.spent()) reader.set_cut();
    const std::string& path = modules[static_cast<std::size_t>(entries[i])].path;
    tree.add_entries(path);
    const bool trains =
        std::any_of(reader.facts().begin() + static_cast<std::ptrdiff_t>(before), reader.facts().end(), Trains);
    if (trains) tree.add_trainers(path);
  }
  reader.RunTheRest();
  Writer writer(reader, modules, tree);
  writer.Facts();
  writer.Codes();
  writer.Files();
  bool whole = !reader.cut();
  writer.Doubts();
  whole = whole && reader.doubts().empty();
  for (const v1::ScriptFile& file : tree.files()) whole = whole && (!file.reached() || file.why_unread().empty());
  tree.set_whole(whole);
  tree.set_command_line_known(options.command_line_known);
  for (const std::string& file : reader.settings_files) tree.add_settings_files(DisplayBytes(file));
  tree.set_settings_files_known(!reader.settings_files.empty() && !reader.settings_file_untold);
  if (reader.cut()) {
    v1::Note& note = *tree.add_notes();
    note.set_kind("script_cut");
    note.set_message("too much code to follow every call: what is there was read in part");
  } else if (reader.rest_cut()) {
    // What nothing calls is no part of a run: its flow is whole all the same.
    v1::Note& note = *tree.add_notes();
    note.set_kind("script_rest_cut");
    note.set_message("of the functions that no run calls, only some were read");
  }
  AddProcessNote(modules, options, unread, tree);
  return tree;
}

}  // namespace paritect
