#include "checks/settings/mode_files.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

using absl::StrCat;

// How many parts at the end of two paths agree; 0: other names.
int SameTail(absl::string_view a, absl::string_view b) {
  const std::vector<absl::string_view> x = absl::StrSplit(a, '/', absl::SkipEmpty());
  const std::vector<absl::string_view> y = absl::StrSplit(b, '/', absl::SkipEmpty());
  int same = 0;
  for (auto i = x.rbegin(), j = y.rbegin(); i != x.rend() && j != y.rend() && *i == *j; ++i, ++j) ++same;
  return same;
}

std::set<std::string> EntriesOf(const v1::SettingsDocument& document) {
  std::set<std::string> entries;
  for (const v1::Setting& setting : document.settings()) {
    if (setting.value().kind_case() != v1::Value::kList) {
      entries.insert(StrCat(setting.raw_key(), " ", setting.raw_value()));
      continue;
    }
    for (const v1::Value& item : setting.value().list().items()) {
      entries.insert(StrCat(setting.raw_key(), " ", ValueToText(item)));
    }
  }
  return entries;
}

// The file of the node whose path fits best.
void FindFile(const RunView& run, ModeFile& file) {
  int best = 0;
  for (const v1::Bundle* bundle : run.nodes) {
    if (bundle->plan().node() != file.node) continue;
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (!evidence.has_settings()) continue;
      const int same = SameTail(evidence.source(), file.path);
      if (same <= best) continue;
      best = same;
      file.document = &evidence.settings();
      file.source = evidence.source();
    }
  }
  if (file.document != nullptr) file.entries = EntriesOf(*file.document);
}

}  // namespace

std::vector<ModeFile> ModeFilesOf(const SettingsView& view, const RunView& run) {
  std::vector<ModeFile> files;
  for (const char* option : {"modify_mixlist", "customize_dtypes", "op_precision_mode"}) {
    std::set<std::string> nodes;
    for (const SourcedValue* value : view.All(option)) {
      const std::string path = ValueToText(value->value);
      if (path.empty() || !nodes.insert(value->node).second) continue;
      ModeFile file;
      file.option = option;
      file.node = value->node;
      file.path = path;
      file.option_origin = value->origin;
      FindFile(run, file);
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::string OnlyIn(const std::set<std::string>& a, const std::set<std::string>& b, std::size_t shown,
                   std::size_t& total) {
  std::vector<std::string> only;
  total = 0;
  for (const std::string& entry : a) {
    if (b.contains(entry)) continue;
    if (++total <= shown) only.push_back(entry);
  }
  return absl::StrJoin(only, ", ");
}

}  // namespace paritect
