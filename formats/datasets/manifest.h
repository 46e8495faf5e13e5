// Lists of files with digests, as other tools write them, to a FileList and back.
//
// Read: GNU md5sum (text and binary mark, "\" escapes, -z), BSD tags (md5, openssl, cksum --tag, rhash),
// hashdeep, BagIt (RFC 8493), mtree, git lfs ls-files, tables (any header or none), columns and blocks as tools print
// them for people, JSON (own form, DVC .dir, rclone lsjson, a map from name to digest, JSON Lines, listings of object
// stores), SFV; packed with gzip or not. Words of columns and remarks: rules/data/list_words.yaml. Source of the forms:
// the tools' manuals; coreutils' md5sum.c for escapes.
//
// One rule for all: "./" and a common absolute folder are taken off the names (FileList.root keeps it);
// "\" separates only where the whole list uses it; digests in any case; BOM, CRLF, UTF-16 and "#" lines are
// allowed. A line that is cut or of no known form makes the list incomplete: what it does not name says
// nothing. Names are bytes; the result is sorted by bytes; no name stands twice.
#ifndef PARITECT_FORMATS_DATASETS_MANIFEST_H_
#define PARITECT_FORMATS_DATASETS_MANIFEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/digest.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

// `file_name` decides only where content cannot (BagIt's manifest-md5.txt). InvalidArgument: of none of the
// forms above (the message says what was seen). Problems in `incomplete` lack their "source": the caller knows it.
absl::StatusOr<v1::FileList> ParseManifest(absl::string_view bytes, absl::string_view file_name);

// Whether the beginning of a file looks like one of the forms.
bool LooksLikeManifest(absl::string_view head, absl::string_view file_name);

// Names in enumeration order, one a line (or NUL separated): `ls -U`, `find`. "./" and a common absolute
// folder are taken off; order and repetitions are kept.
v1::DirectoryListing ParseListing(absl::string_view bytes);

// `format`: md5sum | bsd | hashdeep | bagit | csv | json. Regular files only. InvalidArgument: another
// word, or a file without MD5.
absl::StatusOr<std::string> WriteManifest(const v1::FileList& list, absl::string_view format);

// What `find . -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum | md5sum` prints, as 16 raw bytes:
// anyone can check us by hand. "" where a file has no MD5.
std::string ListingDigest(const v1::FileList& list);

// The same of files that come one by one, sorted by the bytes of their paths.
class ListingDigester {
 public:
  void Add(const v1::FileEntry& file);  // what is no file is left out
  std::string Finish();                 // once

 private:
  Digest digest_{DigestKind::kMd5};
  bool whole_ = true;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_MANIFEST_H_
