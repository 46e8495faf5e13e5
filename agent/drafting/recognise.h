// What one file of a run's folder is, told by its content with the readers that would read it later: a file is only
// taken for what its reader can make something of. Never by its name, but for scripts.
#ifndef PARITECT_AGENT_DRAFTING_RECOGNISE_H_
#define PARITECT_AGENT_DRAFTING_RECOGNISE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "rules/rules.h"

namespace paritect {

enum class FileKind {
  kUnknown,
  kLog,
  kSettings,
  kWeights,
  kFileList,  // digests of a data set
  kShards,    // what ranks read
  kTrace,     // of the recorder
  kObserved,  // of the observer
  kTensors,   // a dump of operators
  kScript,
  kPlan,
  kBundle,
  kData,  // records of samples
};

struct PrintedLoss {
  double value = 0;
  double resolution = 0;  // half a unit of the last printed digit
};

struct RecognisedFile {
  FileKind kind = FileKind::kUnknown;
  std::string format;  // the reader's word: "megatron", "launch-script", "safetensors"
  std::string why;     // kUnknown: an id of the catalogue ("not_taken_…")
  std::string seen;    // what was seen, for that text
  // Of a log.
  std::int64_t records = 0;
  bool more = false;                           // it goes on behind what was read for recognition
  bool curve = false;                          // it holds losses
  bool finished = false;                       // it reaches the end that it announces
  std::map<std::int64_t, PrintedLoss> losses;  // by step, of the first steps
  // Of settings.
  std::string command_entry;                  // of a launch script: the script that it starts
  std::string text;                           // of a launch script or a document: how it begins
  bool document = false;                      // keys and values that a person wrote (YAML, JSON, TOML)
  std::map<std::string, std::string> values;  // of a launch script, and those that a log prints: by canonical key
  std::int64_t entries = 0;                   // of a list: files
  bool states_rank = false;                   // of shard lists: each says whose it is
};

// `path` on disk; `name` decides where content cannot (.py). Whatever goes wrong is kUnknown with its reason.
RecognisedFile RecogniseFile(FileSystem& fs, const Rules& rules, const std::string& path, std::uint64_t size_bytes);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_RECOGNISE_H_
