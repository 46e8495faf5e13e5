// The fields of one file's record in a list, whatever its form: a table's cells, a block's keys, a JSON object's
// members.
#ifndef PARITECT_FORMATS_DATASETS_LIST_FIELDS_H_
#define PARITECT_FORMATS_DATASETS_LIST_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/datasets/manifest_builder.h"
#include "rules/list_words.h"

namespace paritect {

// A digest in any spelling that tools use: hexadecimal in any case, in groups of two ("4e 15 f1"), in quotes, behind
// its name ("md5:..."), base64 (also of the URL alphabet), an ETag of parts ("...-12"). Kept as SetDigest keeps it,
// where `algorithm` ("" or "MD5", "SHA256", ...) does not say that it is another one. False: no digest.
bool SetAnyDigest(absl::string_view text, absl::string_view algorithm, ManifestFile& file);

// Whether the text is a digest in one of these spellings, and not of the short forms that any word may have.
bool IsDigestText(absl::string_view text);

// Whether the word names an algorithm of digests ("MD5", "SHA-256", "MACTripleDES").
bool IsAlgorithmName(absl::string_view word);

// "70", "70B", "70 bytes", "1,234": bytes. `known` is false of a rounded size ("1.2KB", "1KB"). nullopt: no size.
struct SizeText {
  std::uint64_t bytes = 0;
  bool known = true;
};
std::optional<SizeText> ReadSize(absl::string_view text);

class ListFields {
 public:
  // False: the value is none of its column. An empty one is none and right.
  bool Put(ListColumn column, absl::string_view value);
  bool has_name() const { return !path_.empty() || !name_.empty() || !url_.empty(); }
  bool has_content() const { return has_content_; }

  // nullopt: without a name, or with a digest that is none.
  std::optional<ManifestFile> Finish();

 private:
  ManifestFile file_;
  std::string path_;
  std::string name_;
  std::string folder_;
  std::string url_;
  std::string algorithm_;
  std::vector<std::string> digests_;
  bool has_content_ = false;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_LIST_FIELDS_H_
