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
      nodes_[record.name()] = std::move(node);
    }
    holders_[std::string(key)] = std::move(record);
    return true;
  }));
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
    if (before.state() == "active") {
      *record.mutable_earlier_serials() = before.earlier_serials();
      record.add_earlier_serials(before.serial());
      while (record.earlier_serials_size() > kEarlierSerialsMax) {
        record.mutable_earlier_serials()->erase(record.mutable_earlier_serials()->begin());
      }
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
    holders_[document.key] = std::move(record);
  }
}

absl::Status Fleet::Accepts(const v1::NodeRecord& peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto [known, fresh] = holders_.try_emplace(HolderKey(RoleWord(peer.role()), peer.name()), peer);
  if (peer.role() != v1::ACCESS_ROLE_AGENT) known->second.set_last_seen_unix_ms(clock_());
  if (fresh) {
    known->second.set_state("active");
    if (peer.role() == v1::ACCESS_ROLE_AGENT) nodes_.try_emplace(peer.name(), std::make_shared<Node>(peer.name()));
    return absl::OkStatus();
  }
  const v1::NodeRecord& record = known->second;
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
  record.set_clock_offset_known(node.clock_known);
  record.set_clock_offset_ms(node.clock_offset_ms);
}

std::vector<v1::NodeRecord> Fleet::Holders() {
  std::lock_guard<std::mutex> lock(mutex_);
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
    known.revoked = holder->second.state() != "active";
    known.online = !known.revoked && node->session != 0 && now - node->last_seen_unix_ms < options_.online_ms;
    known.last_seen_unix_ms = node->last_seen_unix_ms;
    if (node->clock_known) known.clock_offset_ms = node->clock_offset_ms;
    known.lost_records = node->lost_records;
    known.mounts = {node->hello.mounts().begin(), node->hello.mounts().end()};
    out.push_back(std::move(known));
  }
  return out;
}

absl::StatusOr<WriteSet> Fleet::PrepareRevocation(const std::string& name, const std::string& by, bool forget) {
  std::lock_guard<std::mutex> lock(mutex_);
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
  return counters;
}

}  // namespace paritect
