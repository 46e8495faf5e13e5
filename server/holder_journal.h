// Who was issued a certificate on the server's own disk, who was revoked, and who of the revoked was enrolled again: a
// file of lines in the server's folder, beside the database, so that an older backup of it brings nobody back.
//
//   UNIX-TIME EVENT ROLE/NAME SERIAL EXPIRES BY      EVENT: issued | revoked | forgotten | enrolled; "-": not known
//
// The server appends, and so do `init` and `credential` while it runs or not; the last line of a holder counts.
#ifndef PARITECT_SERVER_HOLDER_JOURNAL_H_
#define PARITECT_SERVER_HOLDER_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/credential.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

enum class HolderEvent { kIssued, kRevoked, kForgotten, kEnrolled };

struct HolderLine {
  HolderEvent event = HolderEvent::kIssued;
  std::int64_t at_unix = 0;
  v1::AccessRole role = v1::ACCESS_ROLE_UNSPECIFIED;
  std::string name;
  std::string serial;  // of the certificate that counts from now on
  std::int64_t expires_unix = 0;
  std::string by;  // who revoked it: ROLE/NAME
};

std::string FormatHolderLine(const HolderLine& line);
// nullopt: cut short, or written by something else.
std::optional<HolderLine> ParseHolderLine(absl::string_view text);

// Thread-safe; other processes may append to the same file.
class HolderJournal {
 public:
  // FOLDER/holders.log; it is made with the first line.
  explicit HolderJournal(absl::string_view folder);

  // Durable when it returns.
  absl::Status Append(const HolderLine& line);
  // What was appended since the last call, by whomever; from the first line at the first. A last line that is not
  // written to its end yet comes with a later call.
  absl::StatusOr<std::vector<HolderLine>> ReadNew();

 private:
  const std::string path_;
  absl::Mutex mutex_;
  std::uint64_t read_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The line that `init` and `credential` write. InvalidArgument: its certificate cannot be read.
absl::StatusOr<HolderLine> IssuedLine(const Credential& credential, std::int64_t now_unix);

}  // namespace paritect

#endif  // PARITECT_SERVER_HOLDER_JOURNAL_H_
