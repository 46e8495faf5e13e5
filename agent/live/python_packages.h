// Python packages by their metadata on disk. Python is never run.
#ifndef PARITECT_AGENT_LIVE_PYTHON_PACKAGES_H_
#define PARITECT_AGENT_LIVE_PYTHON_PACKAGES_H_

#include <map>
#include <string>
#include <vector>

#include "common/file_system.h"

namespace paritect {

struct PythonPackage {
  std::string version;
  std::string origin;                // the file that says so
  std::string source;                // "git+https://... @ commit", "editable /src @ commit"; "" from an index
  std::vector<std::string> shadows;  // "1.9.0 in /other": the same package again, later on the path or beside it
};

struct PythonPackages {
  std::map<std::string, PythonPackage> packages;  // by name as PEP 503 normalises it
  std::vector<std::string> folders;               // site folders that were read, in the order in which Python looks
  std::string python_version;                     // "3.10.12", or "" where only "3.10" is known
  std::string torch_git, torch_cuda;              // of torch/version.py
  std::vector<std::string> unreadable;            // folders or files that could not be read, with the reason
};

// Reads `folders` (in the order of sys.path; those that are not there are left out), each of: NAME-VERSION.dist-info/
// METADATA, NAME.egg-info (a folder with PKG-INFO, or a file), and for a Conda environment conda-meta/*.json beside
// them. The first folder that has a package counts, as for Python's import.
PythonPackages ReadPythonPackages(FileSystem& fs, const std::vector<std::string>& folders);

// Site folders of an interpreter in `prefix` (a virtual environment, a Conda environment, "/usr", "/usr/local").
std::vector<std::string> SiteFoldersOf(FileSystem& fs, const std::string& prefix);

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_PYTHON_PACKAGES_H_
