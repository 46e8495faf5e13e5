// What the readers of single list forms fill; turns raw names into the one rule of manifest.h.
#ifndef PARITECT_FORMATS_DATASETS_MANIFEST_BUILDER_H_
#define PARITECT_FORMATS_DATASETS_MANIFEST_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

struct ManifestFile {
  std::string path;  // as the list spells it, unescaped
  std::string md5;   // raw; empty: not stated
  std::string sha256;
  std::string crc32;  // 4 bytes, big endian as SFV prints it
  std::optional<std::uint64_t> size_bytes;
  std::optional<std::uint64_t> records;
  std::string link_target;
  bool link = false;
  bool directory = false;
  bool exact_name = false;       // backslashes in it are real: its line had escapes
  bool name_may_be_cut = false;  // last line without a line end
  bool etag = false;             // md5 is an object store's ETag
  bool multipart = false;        // ... of an upload in parts, which is no MD5 of the content
  bool pointer = false;          // where the list was made only a Git LFS pointer stood
};

inline constexpr absl::string_view kFcivMark = "File Checksum Integrity Verifier";

// The note of a list whose names are in lower case whatever they are on the disk.
inline constexpr absl::string_view kLowerCaseNames = "names_lower_case";

class ManifestBuilder {
 public:
  // A name longer than any path, or with a NUL byte, is no file's: the list is incomplete.
  void Add(ManifestFile file);
  // A line of no known form. `last`: it is the list's last one, so probably cut.
  void BadLine(std::int64_t line, absl::string_view text, bool last);
  void AddNote(absl::string_view kind, absl::string_view message);
  std::size_t size() const { return files_.size(); }

  // Applies the rule and sorts. `format`: "manifest-md5sum" ...
  v1::FileList Finish(absl::string_view format);

 private:
  // The names under one root, without the name that may be cut: that one counts where it stands below the same root.
  void UnifyFiles();

  std::vector<ManifestFile> files_;
  v1::FileList list_;
  int bad_lines_ = 0;
};

// Takes "./", repeated "/" and, where every name is absolute, the deepest common folder off; `root` is
// what was taken. Backslashes of names that are not `exact` become "/" where no name has a "/".
struct RawName {
  std::string* text;
  bool exact = false;
};
void UnifyNames(const std::vector<RawName>& names, std::string& root);

// A digest in hexadecimal, any case, put where it belongs by its length (32: MD5, 64: SHA-256; 40, 96, 128:
// known, not kept). False: no digest.
bool SetDigest(absl::string_view hex, ManifestFile& file);

// An object store's ETag, in quotes or not. "…-12" is the MD5 of the parts' MD5s and says nothing of the content.
bool SetEtag(absl::string_view etag, ManifestFile& file);

// The lines of a text without their ends; NUL separates where the text holds NUL.
struct TextLine {
  absl::string_view text;
  std::int64_t number = 0;
  bool open = false;  // the last one, without a line end
};
std::vector<TextLine> SplitLines(absl::string_view text, char separator = '\n');

// --- the forms; `text` is UTF-8 or bytes, without BOM -------------------------------------------------
struct ManifestForm {
  absl::string_view format;  // "manifest-md5sum"
  bool (*fits)(absl::string_view head, absl::string_view file_name);
  // InvalidArgument: it did not fit after all.
  absl::Status (*read)(absl::string_view text, ManifestBuilder& sink);
};
extern const ManifestForm kMd5sumForm;
extern const ManifestForm kBsdForm;
extern const ManifestForm kBagitForm;
extern const ManifestForm kHashdeepForm;
extern const ManifestForm kSfvForm;
extern const ManifestForm kMtreeForm;
extern const ManifestForm kCsvForm;      // a header names the columns
extern const ManifestForm kBareCsvForm;  // their content tells them
extern const ManifestForm kColumnsForm;
extern const ManifestForm kBlocksForm;
extern const ManifestForm kLfsForm;
extern const ManifestForm kJsonForm;

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_MANIFEST_BUILDER_H_
