// Identities and what is known of nodes. Sessions and batches are in fleet_sessions.cc.
#include "server/fleet.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr absl::string_view kCollection = "node";
constexpr int kEarlierSerialsMax = 8;

absl::string_view RoleWord(v1::AccessRole role) {
  switch (role) {
    case v1::ACCESS_ROLE_AGENT: return "agent";
    case v1::ACCESS_ROLE_VIEWER: return "viewer";
    case v1::ACCESS_ROLE_OPERATOR: return "operator";
    case v1::ACCESS_ROLE_ADMIN: return "admin";
    default: return "unknown";
  }
}

// A damaged key gives epoch 0, which no spool has.
std::uint64_t EpochOf(absl::string_view hex) {
  std::uint64_t epoch = 0;
  return absl::SimpleHexAtoi(hex, &epoch) ? epoch : 0;
}

void AddEarlierSerial(v1::NodeRecord& record, const std::string& serial) {
  auto& earlier = *record.mutable_earlier_serials();
  if (std::find(earlier.begin(), earlier.end(), serial) != earlier.end()) return;
  record.add_earlier_serials(serial);
  while (earlier.size() > kEarlierSerialsMax) earlier.erase(earlier.begin());
}

HolderLine LineOf(HolderEvent event, const v1::NodeRecord& record, std::int64_t at_unix) {
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

}  // namespace

Fleet::Fleet(FleetStore& store, WallClock clock, FleetOptions options, FleetPorts ports)
    : store_(store), clock_(std::move(clock)), options_(options), ports_(std::move(ports)) {}

absl::Status Fleet::Load() {
  std::lock_guard<std::mutex> lock(mutex_);
  PARITECT_RETURN_IF_ERROR(store_.Scan(kCollection, "", "", [&](absl::string_view key, absl::string_view value) {
    v1::NodeRecord record;
    if (!record.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
    if (record.role() == v1::ACCESS_ROLE_AGENT) {
      auto node = std::make_shared<Node>(record.name());
      node->last_seen_unix_ms = record.last_seen_unix_ms();
      node->hello = record.hello();
      node->address = record.address();
      nodes_[record.name()] = std::move(node);
    }
    holders_[std::string(key)] = std::move(record);
    return true;
  }));
  PARITECT_RETURN_IF_ERROR(ReadJournal());
  return store_.Scan("watermark", "", "", [&](absl::string_view key, absl::string_view value) {
    v1::Watermark watermark;
    const std::vector<std::string> parts = absl::StrSplit(key, '/');
    const auto node = nodes_.find(parts[0]);
    if (parts.size() != 2 || node == nodes_.end()) return true;
    if (!watermark.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
    node->second->lost_records += watermark.lost_records();
    node->second->watermarks[EpochOf(parts[1])] = std::move(watermark);
    return true;
  });
}

absl::Status Fleet::ReadJournal() {
  if (ports_.holders == nullptr) return absl::OkStatus();
  PARITECT_ASSIGN_OR_RETURN(const std::vector<HolderLine> lines, ports_.holders->ReadNew());
  for (const HolderLine& line : lines) ApplyLine(line);
  return absl::OkStatus();
}

// In their order, whatever the store says: it may be older than they are (a backup of it was restored).
void Fleet::ApplyLine(const HolderLine& line) {
  const std::string key = HolderKey(RoleWord(line.role), line.name);
  auto [known, fresh] = holders_.try_emplace(key);
  v1::NodeRecord& record = known->second;
  if (fresh) {
    record.set_role(line.role);
    record.set_name(line.name);
  }
  if (line.role == v1::ACCESS_ROLE_AGENT) nodes_.try_emplace(line.name, std::make_shared<Node>(line.name));
  if (line.event == HolderEvent::kRevoked || line.event == HolderEvent::kForgotten) {
    record.set_state("revoked");
    record.set_revoked_unix(line.at_unix);
    record.set_revoked_by(line.by);
    record.set_forgotten(line.event == HolderEvent::kForgotten);
    record.clear_earlier_serials();
    return;
  }
  const bool issued = line.event == HolderEvent::kIssued;
  if (issued && record.state() == "active") {
    // One more certificate of a holder who has another.
    if (line.serial != record.serial()) AddEarlierSerial(record, line.serial);
    return;
  }
  if (record.state() == "active" && line.serial != record.serial()) AddEarlierSerial(record, record.serial());
  record.set_state(issued ? "issued" : "active");
  record.set_forgotten(false);
  record.set_serial(line.serial);
  record.set_certificate_expires_unix(line.expires_unix);
  if (record.joined_unix() == 0) record.set_joined_unix(line.at_unix);
}

// Who was seen once is known after a restart too, and can be revoked then.
void Fleet::Remember(const std::string& key, const v1::NodeRecord& record) {
  if (!ports_.submit) return;
  WriteSet set;
  set.documents.push_back({std::string(kCollection), key, record.SerializeAsString(), {}});
  ports_.submit(std::move(set), [](const absl::Status&) {}).IgnoreError();
}

absl::StatusOr<WriteSet> Fleet::PrepareEnrolment(v1::NodeRecord record, bool replace) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = HolderKey(RoleWord(record.role()), record.name());
  const auto known = holders_.find(key);
  if (known != holders_.end()) {
    v1::NodeRecord& before = known->second;
    if (before.state() == "revoked" && !replace) {
      return absl::PermissionDeniedError(absl::StrCat(key,
                                                      " was revoked; an admin can allow it again with a token for "
                                                      "that name (`paritect token create --node ",
                                                      record.name(), "`)"));
    }
    if (!replace && before.certificate_expires_unix() > clock_() / 1000) {
      return absl::AlreadyExistsError(absl::StrCat("the name '", record.name(), "' is taken by another ",
                                                   RoleWord(record.role()),
                                                   "; choose another --node name, revoke that one, or make the token "
                                                   "for that name (`paritect token create --node`)"));
    }
    *record.mutable_hello() = before.hello();
    record.set_revoked_unix(before.revoked_unix());
    record.set_last_seen_unix_ms(before.last_seen_unix_ms());
    if (before.state() != "revoked") {
      *record.mutable_earlier_serials() = before.earlier_serials();
      AddEarlierSerial(record, before.serial());
    }
  }
  record.set_state("active");
  WriteSet set;
  set.documents.push_back({std::string(kCollection), key, record.SerializeAsString(), {}});
  return set;
}

void Fleet::Enrolled(const WriteSet& set) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const DocumentWrite& document : set.documents) {
    v1::NodeRecord record;
    if (document.collection != kCollection || !document.value || !record.ParseFromString(*document.value)) continue;
    if (record.role() == v1::ACCESS_ROLE_AGENT && nodes_.count(record.name()) == 0) {
      nodes_[record.name()] = std::make_shared<Node>(record.name());
    }
    if (ports_.holders != nullptr && record.state() == "active" && record.revoked_unix() != 0) {
      // One that cannot be written is refused after a restore of an older backup, and joins again.
      ports_.holders->Append(LineOf(HolderEvent::kEnrolled, record, clock_() / 1000)).IgnoreError();
    }
    holders_[document.key] = std::move(record);
  }
}

absl::Status Fleet::Accepts(const v1::NodeRecord& peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = HolderKey(RoleWord(peer.role()), peer.name());
  auto found = holders_.find(key);
  // Somebody may have issued a certificate on this machine since.
  if (found == holders_.end() || found->second.state() == "revoked") PARITECT_RETURN_IF_ERROR(ReadJournal());
  auto [known, fresh] = holders_.try_emplace(key, peer);
  v1::NodeRecord& record = known->second;
  if (peer.role() != v1::ACCESS_ROLE_AGENT) record.set_last_seen_unix_ms(clock_());
  if (fresh && peer.role() == v1::ACCESS_ROLE_AGENT) {
    nodes_.try_emplace(peer.name(), std::make_shared<Node>(peer.name()));
  }
  if (fresh || record.state() == "issued") {
    record.set_state("active");
    Remember(key, record);
  }
  if (fresh) return absl::OkStatus();
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

void Fleet::FillSeen(const std::string& key, v1::NodeRecord& record) {
  if (record.role() != v1::ACCESS_ROLE_AGENT) return;
  const auto found = nodes_.find(record.name());
  if (found == nodes_.end() || key != HolderKey(RoleWord(record.role()), record.name())) return;
  Node& node = *found->second;
  std::lock_guard<std::mutex> lock(node.mutex);
  record.set_last_seen_unix_ms(std::max(record.last_seen_unix_ms(), node.last_seen_unix_ms));
  if (node.hello.protocol() != 0) *record.mutable_hello() = node.hello;
  // Numbers that a killed agent had reserved are no records: what waits is what the node says waits.
  const auto waiting = static_cast<std::uint64_t>(std::max<std::int64_t>(0, node.spool.records()));
  if (node.spool_known && node.hello.next_sequence() > waiting) {
    record.mutable_hello()->set_first_available(node.hello.next_sequence() - waiting);
  }
  if (!node.address.empty()) record.set_address(node.address);
  if (node.spool_known) *record.mutable_spool() = node.spool;
  record.set_contests(node.contests);
  record.set_contested_unix_ms(node.contested_unix_ms);
  record.set_other_address(node.other_address);
  record.set_problem(node.problem);
  record.set_problem_unix_ms(node.problem_unix_ms);
  *record.mutable_task() = node.task;
  record.set_clock_offset_known(node.clock_known);
  record.set_clock_offset_ms(node.clock_offset_ms);
}

std::vector<v1::NodeRecord> Fleet::Holders() {
  std::lock_guard<std::mutex> lock(mutex_);
  // A journal that cannot be read shows where it is needed: at a start, and where somebody is revoked.
  ReadJournal().IgnoreError();
  std::vector<v1::NodeRecord> out;
  for (const auto& [key, holder] : holders_) {
    if (holder.forgotten()) continue;
    out.push_back(holder);
    FillSeen(key, out.back());
  }
  return out;
}

std::vector<KnownNode> Fleet::Agents() {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t now = clock_();
  std::vector<KnownNode> out;
  for (const auto& [name, node] : nodes_) {
    const auto holder = holders_.find(HolderKey(RoleWord(v1::ACCESS_ROLE_AGENT), name));
    if (holder == holders_.end() || holder->second.forgotten()) continue;
    std::lock_guard<std::mutex> node_lock(node->mutex);
    KnownNode known;
    known.name = name;
    known.revoked = holder->second.state() == "revoked";
    known.online = !known.revoked && node->session != 0 && now - node->last_seen_unix_ms < options_.online_ms;
    known.last_seen_unix_ms = node->last_seen_unix_ms;
    if (node->clock_known) known.clock_offset_ms = node->clock_offset_ms;
    known.lost_records = node->lost_records;
    known.contested_unix_ms = node->contested_unix_ms;
    known.mounts = {node->hello.mounts().begin(), node->hello.mounts().end()};
    out.push_back(std::move(known));
  }
  return out;
}

absl::StatusOr<WriteSet> Fleet::PrepareRevocation(const std::string& name, const std::string& by, bool forget) {
  std::lock_guard<std::mutex> lock(mutex_);
  PARITECT_RETURN_IF_ERROR(ReadJournal());
  WriteSet set;
  for (const auto& [key, holder] : holders_) {
    const bool revoked = holder.state() == "revoked";
    if (holder.name() != name || holder.forgotten() || (revoked && !forget)) continue;
    v1::NodeRecord record = holder;
    if (!revoked) {
      record.set_state("revoked");
      record.set_revoked_unix(clock_() / 1000);
      record.set_revoked_by(by);
    }
    record.set_forgotten(forget);
    // First: a revocation that the database does not get is one all the same.
    if (ports_.holders != nullptr) {
      const HolderEvent event = forget ? HolderEvent::kForgotten : HolderEvent::kRevoked;
      PARITECT_RETURN_IF_ERROR(ports_.holders->Append(LineOf(event, record, record.revoked_unix())));
    }
    set.documents.push_back({std::string(kCollection), key, record.SerializeAsString(), {}});
  }
  if (!set.documents.empty()) return set;
  return absl::NotFoundError(
      absl::StrCat("there is no active node or person named '", name, "' (`paritect node ls` lists all)"));
}

void Fleet::Revoked(const WriteSet& set, const std::string& name) {
  Enrolled(set);
  std::shared_ptr<Node> node = FindNode(name);
  if (node == nullptr) return;
  std::lock_guard<std::mutex> lock(node->mutex);
  if (node->link != nullptr) node->link->Close(absl::PermissionDeniedError(absl::StrCat("'", name, "' was revoked")));
}

WriteSet Fleet::SeenSet() {
  std::lock_guard<std::mutex> lock(mutex_);
  WriteSet set;
  for (auto& [key, holder] : holders_) {
    if (holder.role() != v1::ACCESS_ROLE_AGENT) continue;
    const auto node = nodes_.find(holder.name());
    if (node == nodes_.end()) continue;
    {
      std::lock_guard<std::mutex> node_lock(node->second->mutex);
      if (!node->second->seen_changed) continue;
      node->second->seen_changed = false;
    }
    FillSeen(key, holder);
    holder.clear_task();
    set.documents.push_back({std::string(kCollection), key, holder.SerializeAsString(), {}});
  }
  return set;
}

FleetCounters Fleet::counters() {
  FleetCounters counters;
  {
    std::lock_guard<std::mutex> lock(counters_mutex_);
    counters = counters_;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  counters.online = static_cast<std::int64_t>(sessions_.size());
  counters.nodes = static_cast<std::int64_t>(nodes_.size());
  for (const auto& [name, node] : nodes_) {
    const auto holder = holders_.find(HolderKey(RoleWord(v1::ACCESS_ROLE_AGENT), name));
    if (holder == holders_.end() || holder->second.state() == "revoked") continue;
    std::lock_guard<std::mutex> node_lock(node->mutex);
    const bool online = node->session != 0 && clock_() - node->last_seen_unix_ms < options_.online_ms;
    if (!online && node->last_seen_unix_ms != 0) ++counters.silent;
  }
  return counters;
}

}  // namespace paritect
