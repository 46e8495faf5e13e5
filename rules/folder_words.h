// What people call the folders and files of a training run. Data and sources: rules/data/folder_words.yaml.
#ifndef PARITECT_RULES_FOLDER_WORDS_H_
#define PARITECT_RULES_FOLDER_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// All in lower case. A list of words is asked by HasWord and NumberBehind.
struct FolderWords {
  std::vector<std::string> data;                  // a folder that is a data set as a whole
  std::vector<std::string> train_splits;          // a part of one, where nothing of a run stands in it
  std::vector<std::string> evidence;              // further evidence of the run that the parent folder is of
  std::vector<std::string> runs;                  // several runs side by side
  std::vector<std::string> ranks, nodes, steps;   // a number stands behind the word
  std::vector<std::string> initial, pretrained;   // weights before the first step
  std::vector<std::string> states;                // beside the weights of a checkpoint
  std::vector<std::string> left_out;              // whole names
  std::vector<std::string> foreign_code;          // whole names, or endings with a dot in front: by IsForeignCode
  std::vector<std::string> perhaps_foreign_code;  // whole names
  std::vector<std::string> recorders;             // whole names: a run a folder
  std::vector<std::string> measured;              // fields of logs that are never set
  std::vector<std::string> set;                   // groups of settings that no statement of results holds
  std::vector<std::string> training, other_work;  // in names of scripts that launch scripts start
};

// InvalidArgument "LINE:COLUMN: ..." for an unknown key, or a value that is no list of lower-case texts.
absl::StatusOr<FolderWords> ReadFolderWords(const DocumentNode& root);

// The embedded ones, loaded once.
const FolderWords& BuiltInFolderWords();

// A folder, by its name, whose code or settings are not the project's: of tools (".git"), environments, installed
// packages.
bool IsForeignCode(absl::string_view name);

// Whether a word of the name begins or ends at `at`: at what is no letter, and at a capital behind a small letter.
bool IsWordBorder(absl::string_view name, std::size_t at);

// Whether one of the words is a word of the name: "train_data", "TrainData2" have `data`.
bool HasWord(absl::string_view name, const std::vector<std::string>& words);

// A word with a number behind it, in a name: "log_rank-03.txt" with `rank` is 3, its digits at [begin, end).
struct NumberInName {
  std::int64_t number = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};
// The last one; at most one sign (- _ . =) stands between word and number.
std::optional<NumberInName> NumberBehind(absl::string_view name, const std::vector<std::string>& words);

}  // namespace paritect

#endif  // PARITECT_RULES_FOLDER_WORDS_H_
