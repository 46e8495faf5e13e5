// The folder of a server or an agent belongs to the user of its service, and root maintains it (`systemctl stop` wants
// root): what a verb makes there must be that user's, or the next start may not read its own database or credential.
#ifndef PARITECT_COMMON_KEPT_OWNER_H_
#define PARITECT_COMMON_KEPT_OWNER_H_

#include <string>
#include <utility>

namespace paritect {

// At its end root's files in `folder` are given to the folder's owner. Does nothing for others than root. Links, files
// of several names and folders within are left alone.
class KeptOwner {
 public:
  explicit KeptOwner(std::string folder) : folder_(std::move(folder)) {}
  ~KeptOwner();
  KeptOwner(const KeptOwner&) = delete;
  KeptOwner& operator=(const KeptOwner&) = delete;

 private:
  const std::string folder_;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_KEPT_OWNER_H_
