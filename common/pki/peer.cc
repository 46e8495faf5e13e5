#include "common/pki/peer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kScheme = "paritect://";
constexpr std::size_t kEntriesMax = 10'000;

// '*' is any run of bytes. Goes back to the last star only, so the time is bounded by |pattern| * |text|.
bool MatchStars(absl::string_view pattern, absl::string_view text) {
  std::size_t p = 0, t = 0, star = absl::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Host names are compared, and become names, without regard to case (RFC 4343).
std::vector<std::string> Lower(std::vector<std::string> texts) {
  for (std::string& text : texts) absl::AsciiStrToLower(&text);
  return texts;
}

std::string Carried(const Certificate& certificate) {
  std::vector<std::string> parts = {absl::StrCat("subject ", certificate.Subject())};
  const AlternativeNames names = certificate.Names();
  for (const std::string& name : names.dns) parts.push_back(absl::StrCat("dns:", name));
  for (const std::string& name : names.ip) parts.push_back(absl::StrCat("ip:", name));
  for (const std::string& name : names.uri) parts.push_back(absl::StrCat("uri:", name));
  for (const std::string& name : names.email) parts.push_back(absl::StrCat("email:", name));
  return DisplayBytes(absl::StrJoin(parts, ", ").substr(0, 400));
}

Peer PeerOf(const Certificate& certificate, Identity identity) {
  return {std::move(identity), certificate.SerialHex(), certificate.Fingerprint(), certificate.NotAfter(),
          certificate.Issuer()};
}

}  // namespace

// Reads one entry of the document; apart from the class, for its error texts.
struct IdentityMapReader {
  using Entry = IdentityMap::Entry;
  using Field = IdentityMap::Field;

  static absl::Status ReadSan(const DocumentNode& value, Entry& entry) {
    static constexpr std::pair<absl::string_view, Field> kKinds[] = {
        {"dns:", Field::kDns}, {"ip:", Field::kIp}, {"uri:", Field::kUri}, {"email:", Field::kEmail}};
    for (const auto& [prefix, field] : kKinds) {
      if (!absl::StartsWith(value.text, prefix)) continue;
      entry.field = field;
      entry.pattern = value.text.substr(prefix.size());
      if (field == Field::kDns) absl::AsciiStrToLower(&entry.pattern);
      return absl::OkStatus();
    }
    return ErrorAt(value, "`san` must begin with dns:, ip:, uri: or email:");
  }

  static absl::Status ReadField(const DocumentNode& key, const DocumentNode& value, Entry& entry) {
    if (!value.is_scalar()) return ErrorAt(value, absl::StrCat("`", DisplayBytes(key.text), "` must be a text"));
    if (key.text == "subject_cn") {
      entry.field = Field::kCommonName;
      entry.pattern = value.text;
      return absl::OkStatus();
    }
    if (key.text == "san") return ReadSan(value, entry);
    if (key.text == "name") {
      entry.name = value.text;
      const absl::Status status = CheckName(value.text);
      return status.ok() ? status : ErrorAt(value, status.message());
    }
    if (key.text == "role") {
      const auto role = ParseRole(value.text);
      if (!role) return ErrorAt(value, "the role must be agent, viewer, operator or admin");
      entry.role = *role;
      return absl::OkStatus();
    }
    return ErrorAt(key, absl::StrCat("unknown key `", DisplayBytes(key.text), "`"));
  }

  static absl::StatusOr<Entry> ReadEntry(const DocumentNode& node) {
    if (!node.is_map()) return ErrorAt(node, "each identity must be a map");
    Entry entry;
    for (const auto& [key, value] : node.fields) PARITECT_RETURN_IF_ERROR(ReadField(key, value, entry));
    if (node.Find("role") == nullptr) return ErrorAt(node, "an identity needs a `role`");
    if ((node.Find("subject_cn") == nullptr) == (node.Find("san") == nullptr)) {
      return ErrorAt(node, "an identity needs either `subject_cn` or `san`");
    }
    if (entry.pattern.empty()) return ErrorAt(node, "an identity must not match an empty text");
    return entry;
  }

  // The certificate's texts that the entry looks at.
  static std::vector<std::string> Candidates(const Certificate& certificate, const AlternativeNames& names,
                                             Field field) {
    switch (field) {
      case Field::kCommonName: return {certificate.CommonName()};
      case Field::kDns: return Lower(names.dns);
      case Field::kIp: return names.ip;
      case Field::kUri: return names.uri;
      case Field::kEmail: return names.email;
    }
    return {};
  }
};

absl::StatusOr<IdentityMap> IdentityMap::Parse(absl::string_view yaml) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root,
                            ParseYaml(yaml, {.bytes_max = 4 << 20, .nodes_max = 100'000, .depth_max = 8}));
  IdentityMap map;
  if (root.is_null()) return map;
  if (!root.is_map()) return ErrorAt(root, "the document must be a map with `identities`");
  for (const auto& [key, value] : root.fields) {
    if (key.text != "identities") {
      return ErrorAt(key, absl::StrCat("unknown key `", DisplayBytes(key.text), "`; expected `identities`"));
    }
    if (value.is_null()) continue;
    if (!value.is_list()) return ErrorAt(value, "`identities` must be a list");
    if (value.items.size() > kEntriesMax) return ErrorAt(value, absl::StrCat("more than ", kEntriesMax, " identities"));
    for (const DocumentNode& item : value.items) {
      PARITECT_ASSIGN_OR_RETURN(Entry entry, IdentityMapReader::ReadEntry(item));
      map.entries_.push_back(std::move(entry));
    }
  }
  return map;
}

absl::StatusOr<Identity> IdentityMap::Find(const Certificate& certificate) const {
  const AlternativeNames names = certificate.Names();
  for (const Entry& entry : entries_) {
    for (const std::string& text : IdentityMapReader::Candidates(certificate, names, entry.field)) {
      if (text.empty() || !MatchStars(entry.pattern, text)) continue;
      Identity identity{entry.role, entry.name.empty() ? text : entry.name};
      PARITECT_RETURN_IF_ERROR(CheckName(identity.name));
      return identity;
    }
  }
  return absl::NotFoundError(absl::StrCat("no line of identities.yaml names this certificate: ", Carried(certificate)));
}

absl::StatusOr<Identity> StampedIdentity(const Certificate& certificate) {
  const std::string* stamp = nullptr;
  const AlternativeNames names = certificate.Names();
  for (const std::string& uri : names.uri) {
    if (!absl::StartsWithIgnoreCase(uri, kScheme)) continue;
    if (stamp != nullptr) return absl::UnauthenticatedError("the certificate names several identities");
    stamp = &uri;
  }
  if (stamp == nullptr) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate carries no Paritect identity: ", Carried(certificate)));
  }
  const auto identity = ParseIdentityUri(*stamp);
  if (!identity.ok()) return absl::UnauthenticatedError(identity.status().message());
  if (certificate.CommonName() != CommonNameOf(identity->name)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate's common name is not that of its identity: ", Carried(certificate)));
  }
  return identity;
}

absl::StatusOr<Peer> ParsePeer(absl::string_view pem, const PeerPolicy& policy) {
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate, Certificate::FromPem(pem));
  absl::StatusOr<Identity> identity = absl::UnauthenticatedError("no identity");
  if (policy.stamps_count) identity = StampedIdentity(certificate);
  if (!identity.ok() && policy.table != nullptr) identity = policy.table->Find(certificate);
  if (!identity.ok()) return absl::UnauthenticatedError(identity.status().message());
  return PeerOf(certificate, *std::move(identity));
}

absl::StatusOr<Peer> ParsePeer(absl::string_view pem) {
  return ParsePeer(pem, PeerPolicy());
}

}  // namespace paritect
