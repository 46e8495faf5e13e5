#include "agent/live/python_packages.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/code_state.h"
#include "agent/live/live_report.h"
#include "agent/redaction.h"
#include "common/document.h"
#include "formats/settings/builder.h"
#include "formats/settings/forms/packages.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kMetadataBytesMax = 4 << 20;  // a long description stands behind the headers

struct Metadata {
  std::string name, version;
};

// RFC 822 headers, up to the first empty line.
Metadata ReadHeaders(absl::string_view text) {
  Metadata metadata;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty()) break;
    if (absl::ConsumePrefix(&line, "Name:") && metadata.name.empty()) {
      metadata.name = std::string(absl::StripAsciiWhitespace(line));
    } else if (absl::ConsumePrefix(&line, "Version:") && metadata.version.empty()) {
      metadata.version = std::string(absl::StripAsciiWhitespace(line));
    }
  }
  return metadata;
}

// "torch-2.1.0+cu121" of "torch-2.1.0+cu121.dist-info".
Metadata FromFolderName(absl::string_view stem) {
  const std::size_t dash = stem.find('-');
  if (dash == absl::string_view::npos) return {std::string(stem), ""};
  absl::string_view version = stem.substr(dash + 1);
  version = version.substr(0, version.find("-py"));  // "x-1.0-py3.10.egg-info"
  return {std::string(stem.substr(0, dash)), std::string(version)};
}

// direct_url.json (PEP 610): where a package came from when not from an index.
std::string SourceOf(FileSystem& fs, const std::string& folder) {
  auto text = ReadNodeText(fs, folder + "/direct_url.json", 1 << 20);
  if (!text.ok()) return "";
  auto root = ParseJson(*text);
  const DocumentNode* url = root.ok() ? root->Find("url") : nullptr;
  if (url == nullptr) return "";
  const DocumentNode* vcs = root->Find("vcs_info");
  const DocumentNode* commit = vcs == nullptr ? nullptr : vcs->Find("commit_id");
  if (commit != nullptr) return WithoutSecrets(StrCat(url->text, " @ ", commit->text));
  absl::string_view path = url->text;
  if (!absl::ConsumePrefix(&path, "file://")) return WithoutSecrets(url->text);
  const std::string at = GitCommit(fs, std::string(path));
  const DocumentNode* dir = root->Find("dir_info");
  const DocumentNode* editable = dir == nullptr ? nullptr : dir->Find("editable");
  return StrCat(editable != nullptr && editable->text == "true" ? "editable " : "", path, at.empty() ? "" : " @ ", at);
}

class SiteReader {
 public:
  SiteReader(FileSystem& fs, PythonPackages& all) : fs_(fs), all_(all) {}

  void Folder(const std::string& folder) {
    std::vector<std::string> names;
    const absl::Status status = fs_.List(folder, [&](const DirectoryEntry& one) { names.push_back(one.name); });
    if (absl::IsNotFound(status)) return;
    if (!status.ok()) {
      all_.unreadable.push_back(std::string(status.message()));
      return;
    }
    all_.folders.push_back(folder);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      absl::string_view stem = name;
      if (absl::ConsumeSuffix(&stem, ".dist-info")) {
        Package(folder, name, StrCat(folder, "/", name, "/METADATA"), stem);
      } else if (absl::ConsumeSuffix(&stem, ".egg-info")) {
        auto info = fs_.Stat(StrCat(folder, "/", name));
        const bool file = info.ok() && info->type == FileInfo::Type::kRegular;
        Package(folder, name, StrCat(folder, "/", name, file ? "" : "/PKG-INFO"), stem);
      }
    }
    Torch(folder);
  }

  // Conda lists what is no Python package as well, and packages without metadata of their own.
  void Conda(const std::string& prefix) {
    for (const std::string& name : SortedNames(fs_, prefix + "/conda-meta")) {
      if (!absl::EndsWith(name, ".json")) continue;
      const std::string path = StrCat(prefix, "/conda-meta/", name);
      // These files name every file of the package; their own name says what is asked: NAME-VERSION-BUILD.
      const std::vector<absl::string_view> parts = absl::StrSplit(absl::StripSuffix(name, ".json"), '-');
      if (parts.size() < 3) continue;
      const std::string version(parts[parts.size() - 2]);
      const std::string package = NormalisedPackageName(absl::string_view(name).substr(
          0, static_cast<std::size_t>(parts[parts.size() - 2].data() - name.data()) - 1));
      if (package == "python" && all_.python_version.empty()) all_.python_version = version;
      all_.packages.try_emplace(package, PythonPackage{version, path, "", {}});
    }
  }

 private:
  void Package(const std::string& folder, const std::string& entry, const std::string& file, absl::string_view stem) {
    auto text = ReadNodeText(fs_, file, kMetadataBytesMax);
    Metadata metadata = text.ok() ? ReadHeaders(*text) : Metadata{};
    const Metadata by_name = FromFolderName(stem);
    if (!text.ok() && !absl::IsNotFound(text.status())) all_.unreadable.push_back(std::string(text.status().message()));
    if (metadata.name.empty()) metadata.name = by_name.name;
    if (metadata.version.empty()) metadata.version = by_name.version;
    const std::string name = NormalisedPackageName(metadata.name);
    if (name.empty() || metadata.version.empty()) return;
    PythonPackage package{metadata.version, file, SourceOf(fs_, StrCat(folder, "/", entry)), {}};
    auto [it, fresh] = all_.packages.try_emplace(name, std::move(package));
    // pip leaves the metadata of an interrupted upgrade beside the new one; which one import sees is chance.
    if (!fresh && it->second.version != metadata.version) {
      it->second.shadows.push_back(StrCat(metadata.version, " in ", folder));
    }
  }

  // "git_version = 'abc'", "cuda: Optional[str] = '12.1'".
  void Torch(const std::string& folder) {
    static const RE2* const kGit = new RE2(R"((?m)^git_version\s*=\s*'([0-9a-f]+)')");
    static const RE2* const kCuda = new RE2(R"((?m)^cuda(?::[^=]*)?\s*=\s*'([^']+)')");
    auto text = ReadNodeText(fs_, folder + "/torch/version.py", 1 << 20);
    if (!text.ok() || !all_.torch_git.empty()) return;
    RE2::PartialMatch(*text, *kGit, &all_.torch_git);
    RE2::PartialMatch(*text, *kCuda, &all_.torch_cuda);
  }

  FileSystem& fs_;
  PythonPackages& all_;
};

// "/opt/conda/envs/x" of "/opt/conda/envs/x/lib/python3.10/site-packages".
std::string PrefixOf(absl::string_view folder) {
  const std::size_t lib = folder.rfind("/lib/python");
  return lib == absl::string_view::npos ? "" : std::string(folder.substr(0, lib));
}

}  // namespace

std::vector<std::string> SiteFoldersOf(FileSystem& fs, const std::string& prefix) {
  std::vector<std::string> folders;
  for (const char* lib : {"lib", "lib64"}) {
    const std::string parent = StrCat(prefix, "/", lib);
    for (const std::string& name : SortedNames(fs, parent)) {
      if (!absl::StartsWith(name, "python3")) continue;
      for (const char* site : {"site-packages", "dist-packages"}) {
        const std::string folder = StrCat(parent, "/", name, "/", site);
        // lib64 is often a link to lib.
        const std::string real = RealPathOn(fs, folder);
        const bool known = std::find(folders.begin(), folders.end(), real) != folders.end();
        if (!known && fs.Stat(real).ok()) folders.push_back(real);
      }
    }
  }
  return folders;
}

PythonPackages ReadPythonPackages(FileSystem& fs, const std::vector<std::string>& folders) {
  PythonPackages all;
  SiteReader reader(fs, all);
  for (const std::string& folder : folders) reader.Folder(folder);
  std::vector<std::string> prefixes;
  for (const std::string& folder : all.folders) {
    const std::string prefix = PrefixOf(folder);
    if (prefix.empty() || std::find(prefixes.begin(), prefixes.end(), prefix) != prefixes.end()) continue;
    prefixes.push_back(prefix);
    reader.Conda(prefix);
    auto venv = ReadNodeText(fs, prefix + "/pyvenv.cfg");
    if (!venv.ok() || !all.python_version.empty()) continue;
    ForEachLine(*venv, [&](absl::string_view line, std::int64_t) {
      const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits('=', 1));
      const absl::string_view key = absl::StripAsciiWhitespace(pair.first);
      if (key == "version" || key == "version_info") {
        const std::vector<absl::string_view> parts = absl::StrSplit(absl::StripAsciiWhitespace(pair.second), '.');
        if (parts.size() >= 3) all.python_version = StrCat(parts[0], ".", parts[1], ".", parts[2]);
      }
    });
  }
  return all;
}

}  // namespace paritect
