#include "agent/drafting/one_of_several.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/drafting/path_parts.h"
#include "common/utf8.h"
#include "rules/evaluation_words.h"
#include "rules/file_names.h"
#include "rules/folder_words.h"
#include "rules/log_formats.h"

namespace paritect {
namespace {

// So many steps with a value on both sides tell whether two curves are one; of other curves most values differ.
constexpr std::size_t kCommonStepsMin = 3;
// Beside the resolution of what was printed: single precision.
constexpr double kSameValue = 1e-6;

// "bak" of "bak2", "_old_20261120" and "- 副本": letters without what counts the copies.
bool IsAsideWord(absl::string_view text) {
  std::string word = absl::AsciiStrToLower(text);
  std::erase_if(word,
                [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
  const auto& words = BuiltInFileNames().aside_words;
  return std::find(words.begin(), words.end(), absl::StripAsciiWhitespace(word)) != words.end();
}

// "(1)", as browsers and Windows count.
bool IsCountInBrackets(absl::string_view text) {
  return absl::ConsumePrefix(&text, "(") && absl::ConsumeSuffix(&text, ")") && !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// The names that a file of this name may be a copy of.
std::vector<std::string> OriginalsOf(absl::string_view name) {
  std::vector<std::string> names;
  if (absl::EndsWith(name, "~")) names.emplace_back(name.substr(0, name.size() - 1));
  const std::size_t dot = name.rfind('.');
  const absl::string_view stem = name.substr(0, dot);
  const absl::string_view ending = dot == absl::string_view::npos ? "" : name.substr(dot);
  for (std::size_t at = 1; at < name.size(); ++at) {
    if (!absl::StrContains("._- ", name.substr(at, 1))) continue;
    if (name[at] == '.' && IsAsideWord(name.substr(at + 1))) names.emplace_back(name.substr(0, at));
    if (at >= stem.size()) continue;
    const absl::string_view tail = stem.substr(at + 1);
    if (!IsAsideWord(tail) && !IsCountInBrackets(tail)) continue;
    names.push_back(absl::StrCat(absl::StripTrailingAsciiWhitespace(stem.substr(0, at)), ending));
  }
  return names;
}

// --- logs --------------------------------------------------------------------------------------------------

// Files that are one log: of ranks, of one recorder's folder.
struct Curve {
  std::string name;  // the first path
  std::string format;
  std::vector<std::string> paths;
  std::map<std::int64_t, PrintedLoss> losses;
  bool finished = false;
  std::int64_t first() const { return losses.begin()->first; }
};

std::vector<Curve> CurvesOf(const RecognisedFiles& files) {
  std::map<std::string, Curve> curves;
  for (const auto& [path, file] : files) {
    if (file.kind != FileKind::kLog || file.losses.empty() || !NodeFolderOf(path).empty()) continue;
    const std::string key = FactsOfLogFormat(file.format).keeps_runs_side_by_side ? absl::StrCat(FolderOf(path), "/")
                                                                                  : RankedPathOf(path).pattern;
    Curve& curve = curves[absl::StrCat(file.format, " ", key)];
    if (curve.paths.empty()) curve.name = path;
    curve.format = file.format;
    curve.paths.push_back(path);
    curve.losses.insert(file.losses.begin(), file.losses.end());
    curve.finished = curve.finished || file.finished;
  }
  std::vector<Curve> list;
  for (auto& [key, curve] : curves) list.push_back(std::move(curve));
  return list;
}

struct Comparison {
  std::size_t common = 0;
  std::size_t different = 0;
  bool agree() const { return common >= kCommonStepsMin && different == 0; }
  bool differ() const { return common >= kCommonStepsMin && different * 2 > common; }
};

Comparison Compare(const Curve& a, const Curve& b) {
  Comparison result;
  for (const auto& [step, one] : a.losses) {
    const auto other = b.losses.find(step);
    if (other == b.losses.end()) continue;
    ++result.common;
    const double apart = std::abs(one.value - other->second.value);
    const double same = (one.resolution + other->second.resolution) * 1.01 + kSameValue * std::abs(one.value);
    result.different += apart <= same || (std::isnan(one.value) && std::isnan(other->second.value)) ? 0 : 1;
  }
  return result;
}

// One format and one first step: what goes on behind another is the same run, restarted.
bool AreOfOtherRuns(const Curve& a, const Curve& b) {
  return a.format == b.format && a.first() == b.first() && Compare(a, b).differ();
}

bool Names(absl::string_view text, absl::string_view name) {
  for (std::size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1)) {
    const unsigned char before = at == 0 ? ' ' : static_cast<unsigned char>(text[at - 1]);
    const unsigned char behind =
        at + name.size() < text.size() ? static_cast<unsigned char>(text[at + name.size()]) : ' ';
    const auto goes_on = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; };
    if (!goes_on(before) && before != '.' && !goes_on(behind)) return true;
  }
  return false;
}

bool IsLaunch(const RecognisedFile& file) {
  return file.kind == FileKind::kSettings && file.format == "launch-script" && !file.command_entry.empty();
}

bool IsNamedByALaunch(const RecognisedFiles& files, const std::string& path) {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& one) { return IsLaunch(one.second) && Names(one.second.text, BaseName(path)); });
}

// Keeps those that `fits`; whether one alone is left.
bool OneIsLeft(std::vector<const Curve*>& candidates, absl::FunctionRef<bool(const Curve&)> fits) {
  std::vector<const Curve*> kept;
  for (const Curve* one : candidates) {
    if (fits(*one)) kept.push_back(one);
  }
  if (!kept.empty()) candidates = std::move(kept);
  return candidates.size() == 1;
}

// With its folder: "exp2/train.log", where "train.log" lies here, too.
bool IsNamedInItsFolder(const RecognisedFiles& files, const std::string& path) {
  return absl::StrContains(path, '/') && std::any_of(files.begin(), files.end(), [&](const auto& one) {
           return IsLaunch(one.second) && Names(one.second.text, path);
         });
}

// Of curves of one format that are of other runs: the one that is of this folder's; nullptr: nothing tells.
const Curve* OwnOf(const RecognisedFiles& files, const std::vector<Curve>& all, std::vector<const Curve*> rivals) {
  if (OneIsLeft(rivals, [&](const Curve& one) { return IsNamedInItsFolder(files, one.name); })) return rivals[0];
  if (OneIsLeft(rivals, [](const Curve& one) { return !LiesInARunsFolder(one.name); })) return rivals[0];
  if (OneIsLeft(rivals, [&](const Curve& one) { return IsNamedByALaunch(files, one.name); })) return rivals[0];
  const auto agrees = [&](const Curve& one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Curve& other) { return other.format != one.format && Compare(one, other).agree(); });
  };
  if (OneIsLeft(rivals, agrees)) return rivals[0];
  // Of several runs side by side one that broke off is a run all the same.
  if (LiesInARunsFolder(rivals[0]->name)) return nullptr;
  return OneIsLeft(rivals, [](const Curve& one) { return one.finished; }) && rivals[0]->finished ? rivals[0] : nullptr;
}

// The curve, those that are of other runs than it, those that are of other runs than these, ...
std::vector<const Curve*> RivalsOf(const Curve& one, const std::vector<Curve>& curves) {
  std::vector<const Curve*> rivals = {&one};
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    for (const Curve& other : curves) {
      const bool known = std::find(rivals.begin(), rivals.end(), &other) != rivals.end();
      if (!known && AreOfOtherRuns(*rivals[i], other)) rivals.push_back(&other);
    }
  }
  std::sort(rivals.begin(), rivals.end());
  return rivals;
}

class OtherRuns {
 public:
  OtherRuns(RecognisedFiles& files, std::vector<NotTaken>& not_taken) : files_(files), not_taken_(not_taken) {}

  std::vector<std::string> Run() {
    std::vector<Curve> curves = CurvesOf(files_);
    for (bool again = true; again;) {
      again = false;
      for (const Curve& one : curves) {
        const std::vector<const Curve*> rivals = RivalsOf(one, curves);
        if (rivals.size() < 2) continue;
        const Curve* const own = OwnOf(files_, curves, rivals);
        if (own == nullptr) return Told(rivals);
        again = LeaveOut(curves, *own, [&](const Curve& other) { return AreOfOtherRuns(*own, other); });
        if (again) break;
      }
    }
    LeaveOutOfRecorders(curves);
    LeaveOutWithoutCurve(curves);
    return {};
  }

 private:
  // Runs in folders of their own are told by these folders.
  static std::vector<std::string> Told(const std::vector<const Curve*>& rivals) {
    std::vector<std::string> names;
    for (const Curve* one : rivals) {
      if (!LiesInARunsFolder(one->name)) names.push_back(one->name);
    }
    return names.size() == rivals.size() ? names : std::vector<std::string>();
  }

  // A recorder's curve that can be held against a log of the run and is not it.
  void LeaveOutOfRecorders(std::vector<Curve>& curves) {
    for (bool again = true; again;) {
      again = false;
      for (const Curve& own : curves) {
        if (FactsOfLogFormat(own.format).keeps_runs_side_by_side) continue;
        again = LeaveOut(curves, own, [&](const Curve& other) {
          return FactsOfLogFormat(other.format).keeps_runs_side_by_side && Compare(own, other).differ();
        });
        if (again) break;
      }
    }
  }

  // What a recorder kept of a run whose curve does not lie here, beside the curve of a run: whose it is nothing tells.
  void LeaveOutWithoutCurve(const std::vector<Curve>& curves) {
    std::map<std::string, std::string> own;  // folder of a recorder's run -> a curve elsewhere
    for (const auto& [path, file] : files_) {
      const std::string folder = RecordersRunOf(path);
      if (folder.empty() || own.contains(folder)) continue;
      const bool here = std::any_of(files_.begin(), files_.end(), [&folder](const auto& one) {
        return one.second.kind == FileKind::kLog && one.second.curve && StandsBelow(one.first, folder);
      });
      if (!here && !curves.empty()) own[folder] = curves[0].name;
    }
    for (const auto& [folder, name] : own) LeaveOutFolder(folder, name, "not_taken_recorder");
  }

  // With what lies beside them in a folder of their own.
  bool LeaveOut(std::vector<Curve>& curves, const Curve& own, absl::FunctionRef<bool(const Curve&)> other) {
    std::vector<Curve> kept;
    std::vector<Curve> left;
    for (const Curve& one : curves) (&one != &own && other(one) ? left : kept).push_back(one);
    const std::string name = own.name;
    for (const Curve& one : left) {
      for (const std::string& path : one.paths) {
        LeaveOutFile(path, name, "not_taken_other_run");
        LeaveOutFolder(OwnFolder(FolderOf(path)), name, "not_taken_other_run");
      }
    }
    const bool any = !left.empty();
    if (any) curves = std::move(kept);
    return any;
  }

  // The highest folder above it that holds no other log.
  std::string OwnFolder(std::string folder) const {
    std::string own;
    for (; !folder.empty(); folder = FolderOf(folder)) {
      const bool holds = std::any_of(files_.begin(), files_.end(), [&](const auto& one) {
        return one.second.kind == FileKind::kLog && StandsBelow(one.first, folder);
      });
      if (holds) return own;
      own = folder;
    }
    return own;
  }

  void LeaveOutFile(const std::string& path, const std::string& own, const char* why) {
    if (files_.erase(path) > 0) not_taken_.push_back({path, why, own});
  }

  void LeaveOutFolder(const std::string& folder, const std::string& own, const char* why) {
    if (folder.empty()) return;
    std::vector<std::string> below;
    for (const auto& [path, file] : files_) {
      if (StandsBelow(path, folder) && file.kind != FileKind::kUnknown) below.push_back(path);
    }
    for (const std::string& path : below) LeaveOutFile(path, own, why);
  }

  RecognisedFiles& files_;
  std::vector<NotTaken>& not_taken_;
};

// --- settings ----------------------------------------------------------------------------------------------

using Paths = std::vector<std::string>;

bool ValuesDiffer(const RecognisedFile& a, const RecognisedFile& b) {
  return std::any_of(a.values.begin(), a.values.end(), [&](const auto& one) {
    const auto other = b.values.find(one.first);
    return other != b.values.end() && other->second != one.second;
  });
}

bool Differ(const RecognisedFile& a, const RecognisedFile& b) {
  return BaseName(a.command_entry) != BaseName(b.command_entry) || ValuesDiffer(a, b);
}

// A value of both that is the same, and none that is another.
bool Agree(const RecognisedFile& a, const RecognisedFile& b) {
  return !ValuesDiffer(a, b) &&
         std::any_of(a.values.begin(), a.values.end(), [&](const auto& one) { return b.values.contains(one.first); });
}

// "evaluate.py", not "train_and_evaluate.py".
bool IsNamedForOtherWork(absl::string_view entry) {
  const std::string name(BaseName(entry));
  const EvaluationWords& evaluation = BuiltInEvaluationWords();
  const bool other = HasWord(name, BuiltInFolderWords().other_work) || HasWord(name, evaluation.splits) ||
                     HasWord(name, evaluation.acts);
  return other && !HasWord(name, BuiltInFolderWords().training);
}

Paths Those(const Paths& paths, absl::FunctionRef<bool(const std::string&)> fit) {
  Paths kept;
  for (const std::string& path : paths) {
    if (fit(path)) kept.push_back(path);
  }
  return kept;
}

void LeaveOutOtherLaunches(RecognisedFiles& files, std::vector<NotTaken>& not_taken) {
  Paths launches;
  Paths logs;
  for (const auto& [path, file] : files) {
    if (IsLaunch(file) && NodeFolderOf(path).empty()) launches.push_back(path);
    if (file.kind == FileKind::kLog && file.curve) logs.push_back(path);
  }
  const auto names_a_log = [&](const std::string& path) {
    return std::any_of(logs.begin(), logs.end(),
                       [&](const std::string& log) { return Names(files.at(path).text, BaseName(log)); });
  };
  const auto agrees_with_a_log = [&](const std::string& path) {
    return std::any_of(logs.begin(), logs.end(),
                       [&](const std::string& log) { return Agree(files.at(path), files.at(log)); });
  };
  Paths own;
  for (const std::string& path : launches) {
    const std::string entry = files.at(path).command_entry;
    if (!IsNamedForOtherWork(entry) || names_a_log(path)) {
      own.push_back(path);
    } else {
      not_taken.push_back({path, "not_taken_other_work", entry});
      files.erase(path);
    }
  }
  launches = own;
  const auto differ = [&] {
    return std::any_of(own.begin(), own.end(),
                       [&](const std::string& path) { return Differ(files.at(own[0]), files.at(path)); });
  };
  if (!differ()) return;
  // Each kind of evidence narrows down what the one before has left.
  if (const Paths kept = Those(own, names_a_log); !kept.empty()) own = kept;
  if (const Paths kept = Those(own, agrees_with_a_log); !kept.empty()) own = kept;
  const bool told = !differ();
  for (const std::string& path : launches) {
    if (told && std::find(own.begin(), own.end(), path) != own.end()) continue;
    not_taken.push_back(told ? NotTaken{path, "not_taken_other_launch", own[0]}
                             : NotTaken{path, "not_taken_launches", absl::StrJoin(launches, ", ")});
    files.erase(path);
  }
}

// "configs/a.yaml" beside "configs/b.yaml", which the launch script names; what it includes is of the run, too.
void LeaveOutOtherDocuments(RecognisedFiles& files, std::vector<NotTaken>& not_taken) {
  std::string launch;
  for (const auto& [path, file] : files) {
    if (IsLaunch(file)) absl::StrAppend(&launch, file.text, "\n");
  }
  if (launch.empty()) return;
  std::map<std::string, Paths> forms;  // documents of one folder and form
  for (const auto& [path, file] : files) {
    if (file.kind != FileKind::kSettings || !file.document) continue;
    forms[absl::StrCat(FolderOf(path), "/", file.format)].push_back(path);
  }
  for (const auto& [form, paths] : forms) {
    const Paths named = Those(paths, [&](const std::string& path) { return Names(launch, BaseName(path)); });
    if (named.empty()) continue;
    for (const std::string& path : paths) {
      const bool kept = std::find(named.begin(), named.end(), path) != named.end() ||
                        std::any_of(named.begin(), named.end(),
                                    [&](const std::string& one) { return Names(files.at(one).text, BaseName(path)); });
      if (kept) continue;
      not_taken.push_back({path, "not_taken_unnamed", named[0]});
      files.erase(path);
    }
  }
}

}  // namespace

void LeaveOutCopies(RecognisedFiles& files, std::vector<NotTaken>& not_taken) {
  std::vector<std::pair<std::string, std::string>> copies;
  for (const auto& [path, file] : files) {
    if (file.kind != FileKind::kLog && file.kind != FileKind::kSettings && file.kind != FileKind::kScript) continue;
    for (const std::string& name : OriginalsOf(BaseName(path))) {
      const std::string original = FolderOf(path).empty() ? name : absl::StrCat(FolderOf(path), "/", name);
      const auto found = files.find(original);
      if (found == files.end() || found->second.kind == FileKind::kUnknown) continue;
      copies.emplace_back(path, original);
      break;
    }
  }
  for (const auto& [path, original] : copies) {
    not_taken.push_back({path, "not_taken_copy", original});
    files.erase(path);
  }
}

std::vector<std::string> LeaveOutOtherRuns(RecognisedFiles& files, std::vector<NotTaken>& not_taken) {
  return OtherRuns(files, not_taken).Run();
}

void LeaveOutOtherSettings(RecognisedFiles& files, std::vector<NotTaken>& not_taken) {
  LeaveOutOtherLaunches(files, not_taken);
  LeaveOutOtherDocuments(files, not_taken);
}

}  // namespace paritect
