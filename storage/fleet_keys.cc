#include "storage/fleet_keys.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"

namespace paritect {

std::string KeyPart(absl::string_view part) {
  std::string out;
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "%%%02X", byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string GroupPrefix(absl::string_view part) {
  return absl::StrCat(KeyPart(part), "/");
}

std::optional<std::vector<std::string>> SplitKey(absl::string_view key) {
  std::vector<std::string> out;
  for (const absl::string_view part : absl::StrSplit(key, '/')) {
    std::string& plain = out.emplace_back();
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '%') {
        plain.push_back(part[i]);
        continue;
      }
      const auto byte = i + 2 < part.size() ? FromHex(part.substr(i + 1, 2)) : std::nullopt;
      if (!byte || byte->size() != 1) return std::nullopt;
      absl::StrAppend(&plain, *byte);
      i += 2;
    }
  }
  return out;
}

std::string EpochKeyPart(std::uint64_t epoch) {
  return absl::StrFormat("%016x", epoch);
}

std::string NumberKeyPart(std::uint64_t number) {
  return absl::StrFormat("%020d", number);
}

std::string RankKeyPart(std::optional<std::int32_t> rank) {
  return rank ? absl::StrFormat("%010d", *rank) : "-";
}

std::string WatermarkKey(absl::string_view node, std::uint64_t epoch) {
  return absl::StrCat(KeyPart(node), "/", EpochKeyPart(epoch));
}

std::string SequenceKey(absl::string_view node, std::uint64_t epoch, std::uint64_t sequence) {
  return absl::StrCat(WatermarkKey(node, epoch), "/", NumberKeyPart(sequence));
}

std::string SeriesKey(absl::string_view run, std::optional<std::int32_t> rank, absl::string_view node) {
  return absl::StrCat(KeyPart(run), "/", RankKeyPart(rank), "/", KeyPart(node));
}

std::string TaskEndKey(absl::string_view task, absl::string_view node) {
  return absl::StrCat(KeyPart(task), "/", KeyPart(node));
}

std::string LeasePrefix(absl::string_view node, absl::string_view task) {
  return absl::StrCat(KeyPart(node), "/", KeyPart(task), "/");
}

std::string LeaseKey(absl::string_view node, absl::string_view task, std::uint64_t id) {
  return absl::StrCat(LeasePrefix(node, task), NumberKeyPart(id));
}

std::string AuditRunKey(absl::string_view audit, std::int64_t number) {
  return absl::StrCat(GroupPrefix(audit), absl::StrFormat("%010d", number));
}

std::string LiveEventKey(absl::string_view audit, std::int64_t number) {
  return absl::StrCat(GroupPrefix(audit), absl::StrFormat("%010d", number));
}

std::string AttestationKey(absl::string_view audit, absl::string_view check) {
  return absl::StrCat(GroupPrefix(audit), KeyPart(check));
}

std::string HolderKey(absl::string_view role, absl::string_view name) {
  return absl::StrCat(GroupPrefix(role), KeyPart(name));
}

std::string BundleKey(absl::string_view run, absl::string_view node, absl::string_view raw_digest) {
  return absl::StrCat(KeyPart(run), "/", KeyPart(node), "/", ToHex(raw_digest));
}

std::string PiecePrefix(const TaskAttempt& attempt) {
  return absl::StrCat(TaskEndKey(attempt.task, attempt.node), "/", EpochKeyPart(attempt.epoch), "/",
                      NumberKeyPart(attempt.attempt), "/");
}

std::string PieceKey(const TaskAttempt& attempt, std::int32_t index) {
  return absl::StrCat(PiecePrefix(attempt), absl::StrFormat("%010d", index));
}

}  // namespace paritect
