#include "server/holder_record.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/access_role.h"
#include "server/wall_clock.h"

namespace paritect {
namespace {

constexpr int kEarlierSerialsMax = 8;

// One more certificate that is good until it expires; of many the oldest are forgotten.
void AddEarlierSerial(v1::NodeRecord& record, const std::string& serial) {
  auto& earlier = *record.mutable_earlier_serials();
  if (std::find(earlier.begin(), earlier.end(), serial) != earlier.end()) return;
  record.add_earlier_serials(serial);
  while (earlier.size() > kEarlierSerialsMax) earlier.erase(earlier.begin());
}

}  // namespace

absl::string_view RoleWord(v1::AccessRole role) {
  const auto known = FromProto(role);
  return known ? RoleName(*known) : "unknown";
}

absl::Status CheckHolder(const v1::NodeRecord& record, const v1::NodeRecord& peer) {
  const std::string who = absl::StrCat(RoleWord(record.role()), " '", record.name(), "'");
  if (record.state() == "revoked") {
    return absl::PermissionDeniedError(
        absl::StrCat(who, " was revoked by ", record.revoked_by(), " on ", FormatTime(record.revoked_unix() * 1000)));
  }
  if (record.revoked_unix() == 0 || record.serial() == peer.serial()) return absl::OkStatus();
  const auto& earlier = record.earlier_serials();
  if (std::find(earlier.begin(), earlier.end(), peer.serial()) != earlier.end()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("this certificate of ", who, " is from before it was revoked"));
}

void MarkRevoked(absl::string_view by, absl::string_view reason, std::int64_t now_unix, v1::NodeRecord& record) {
  record.set_state("revoked");
  record.set_revoked_unix(now_unix);
  record.set_revoked_by(std::string(by));
  record.set_revoked_reason(std::string(reason));
}

absl::Status EnrolAgain(const v1::NodeRecord& before, bool replace, std::int64_t now_unix, v1::NodeRecord& record) {
  if (before.state() == "revoked" && !replace) {
    return absl::PermissionDeniedError(
        absl::StrCat(RoleWord(record.role()), "/", record.name(),
                     " was revoked; an admin can allow it again with a token for that name (`paritect token create "
                     "--node ",
                     record.name(), "`)"));
  }
  if (!replace && before.certificate_expires_unix() > now_unix) {
    return absl::AlreadyExistsError(absl::StrCat("the name '", record.name(), "' is taken by another ",
                                                 RoleWord(record.role()),
                                                 "; choose another --node name, revoke that one, or make the token "
                                                 "for that name (`paritect token create --node`)"));
  }
  *record.mutable_hello() = before.hello();
  record.set_revoked_unix(before.revoked_unix());
  record.set_last_seen_unix_ms(before.last_seen_unix_ms());
  if (before.state() == "revoked") return absl::OkStatus();
  *record.mutable_earlier_serials() = before.earlier_serials();
  AddEarlierSerial(record, before.serial());
  return absl::OkStatus();
}

HolderLine HolderLineOf(HolderEvent event, const v1::NodeRecord& record, std::int64_t at_unix) {
  HolderLine line;
  line.event = event;
  line.at_unix = at_unix;
  line.role = record.role();
  line.name = record.name();
  line.serial = record.serial();
  line.expires_unix = record.certificate_expires_unix();
  line.by = record.revoked_by();
  return line;
}

void ApplyHolderLine(const HolderLine& line, v1::NodeRecord& record) {
  record.set_role(line.role);
  record.set_name(line.name);
  if (line.event == HolderEvent::kRevoked || line.event == HolderEvent::kForgotten) {
    record.set_state("revoked");
    record.set_revoked_unix(line.at_unix);
    record.set_revoked_by(line.by);
    record.set_forgotten(line.event == HolderEvent::kForgotten);
    record.clear_earlier_serials();
    return;
  }
  const bool issued = line.event == HolderEvent::kIssued;
  const bool active = record.state() == "active";
  if (active && line.serial != record.serial()) AddEarlierSerial(record, issued ? line.serial : record.serial());
  if (active && issued) return;  // one more certificate of a holder who has another
  record.set_state(issued ? "issued" : "active");
  record.set_forgotten(false);
  record.set_serial(line.serial);
  record.set_certificate_expires_unix(line.expires_unix);
  if (record.joined_unix() == 0) record.set_joined_unix(line.at_unix);
}

}  // namespace paritect
