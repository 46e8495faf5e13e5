// Reads training scripts: a source tree and where a run begins in it -> facts with file and line (script.proto).
//
// Nothing is executed. Files that no entry reaches are parsed as well, and functions that nothing calls are walked
// last, with nothing known of what they are given: their facts are marked (`called` false). Deterministic; bounded in
// time and memory: what a bound cut is said in a note, and the tree is then not whole. Where the entry is known, a note
// says whether the script can be one process only (formats/python/process_proof.h).
#ifndef PARITECT_FORMATS_PYTHON_SCRIPT_READER_H_
#define PARITECT_FORMATS_PYTHON_SCRIPT_READER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/script.pb.h"
#include "rules/script_rules.h"

namespace paritect {

struct ScriptSourceFile {
  std::string path;  // below the tree's root, '/' between folders
  std::string text;
  // Not: only its place is known, without extension (a compiled module, a folder that was not entered).
  bool read = true;
};

struct ScriptOptions {
  // The file that the run starts, as its command names it ("train.py", "/job/src/train.py"); "": every file that runs
  // something by itself.
  std::string entry;
  // What the command line gives, by option without leading dashes and with '_' for '-'.
  std::map<std::string, std::string, std::less<>> command_line;
  bool command_line_known = false;
};

v1::ScriptTree ReadScripts(std::vector<ScriptSourceFile> files, const ScriptOptions& options, const ScriptRules& rules);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_SCRIPT_READER_H_
