// ZIP archives: the one reader of their directory. Two doors: `ReadZipDirectory` for who uses what is inside (checked
// before anything is unpacked, refused as a whole where two programs could see two different contents), `ZipDirectory`
// for who looks at files of strangers and says where they are damaged.
//
// Names, sizes, methods and checksums are those of the central directory (ZIP64 is read); the local header gives the
// data's place only. Nothing is held but the list: archives of any size are read through `RandomAccess`.
// Source: PKWARE APPNOTE.TXT 6.3, 4.3 to 4.5; D. Fifield, "A better zip bomb" (overlapping files).
#ifndef PARITECT_FORMATS_ARCHIVES_ZIP_H_
#define PARITECT_FORMATS_ARCHIVES_ZIP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/random_access.h"

namespace paritect {

struct ZipEntry {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;     // CRC-32 of the content; PyTorch can be told to leave it wrong
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_at = 0;  // of the local header, in the file
  std::uint64_t data_at = 0;    // in the file; of a stored entry, `size` bytes from here on are the content

  bool folder() const { return !name.empty() && name.back() == '/'; }
  bool encrypted() const;
  bool readable() const { return !encrypted() && (method == 0 || method == 8); }
};

bool LooksLikeZip(absl::string_view head);
// Names in the local headers that begin in `head`, for recognising; nothing is checked.
std::vector<std::string> ZipNamesInHead(absl::string_view head);

struct ZipRules {
  bool names_again = false;  // a name may stand several times (programs that append; the last counts)
};

// Entries in the order of the directory, with their `data_at`; folders are left out. DataLoss "why": names that leave
// the folder ("../x", "/x", "C:\x", NUL) or stand twice, encrypted entries, other methods, entries that overlap each
// other or the directory (one stored block told as many files), a local header that names another file or method, bytes
// before or behind the archive, two ends that disagree, several volumes, more than 200 000 entries. Other errors: of
// the file.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(const RandomAccess& archive, const ZipRules& rules = {});

enum class ZipContent { kWhole, kOtherLength, kOtherChecksum };

// Gives the content of an entry that is `readable()` and has its `data_at`, in blocks of at most 256 KB and never more
// than its `size`. A stored entry gives what its range holds. Errors: of the file and of the sink.
absl::StatusOr<ZipContent> UnpackZipEntry(const RandomAccess& archive, const ZipEntry& entry,
                                          absl::FunctionRef<absl::Status(absl::string_view block)> sink);

// The content in memory. ResourceExhausted: more than `bytes_max`; DataLoss: damaged (length, checksum), or it unpacks
// to many hundred times its length.
absl::StatusOr<std::string> ReadZipEntry(const RandomAccess& archive, const ZipEntry& entry, std::size_t bytes_max);

// The directory entry by entry, as it stands. Not thread-safe.
class ZipDirectory {
 public:
  // The last end record and the ZIP64 one before it. DataLoss: there is none, or the directory is not where it says.
  static absl::StatusOr<ZipDirectory> Find(const RandomAccess& archive);

  // nullopt: the end. DataLoss: something else stands at `at()`.
  absl::StatusOr<std::optional<ZipEntry>> Next();

  enum class Place { kGood, kNoHeader, kOtherFile, kBeyondEnd };
  // Reads the local header; sets `data_at` with kGood and kOtherFile (another name or method). Errors: of the file.
  absl::StatusOr<Place> Locate(ZipEntry& entry) const;

  std::uint64_t begin() const { return begin_; }  // in the file
  std::uint64_t at() const { return at_; }        // of the next entry, in the file
  std::uint64_t seen() const { return seen_; }    // entries that Next gave
  // Whether as many entries as were seen are stated; of the old end record that is told modulo 65 536.
  bool CountFits() const;
  bool MissesEntries() const { return seen_ < stated_; }
  // Nothing stands before the archive and nothing but its comment behind.
  bool exact() const { return shift_ == 0 && !trailing_; }

 private:
  explicit ZipDirectory(const RandomAccess& archive) : archive_(archive) {}
  absl::Status ReadWideEnd(std::uint64_t locator_at, std::uint64_t at);
  absl::StatusOr<absl::string_view> Bytes(std::uint64_t at, std::size_t n);

  RandomAccess archive_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t shift_ = 0;  // bytes before the archive
  std::uint64_t stated_ = 0;
  std::uint64_t bytes_ = 0;   // of the directory, as stated
  std::uint64_t offset_ = 0;  // of the directory, as stated
  bool wide_ = false;
  bool trailing_ = false;
  std::uint64_t at_ = 0;
  std::uint64_t seen_ = 0;
  std::string window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_ZIP_H_
