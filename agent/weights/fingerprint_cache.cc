#include "agent/weights/fingerprint_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"

namespace paritect {
namespace {

constexpr std::uint64_t kEntryBytesMax = 256 << 20;
constexpr std::size_t kDigestBytes = 32;
constexpr std::int64_t kMarginNs = 2'000'000'000;  // coarser than any file system's clock
constexpr absl::string_view kVersion = "paritect weights 4\n";  // raised where readers give more than before

void Append(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Lengths before what they measure; the machine's own byte order.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  bool Number(std::uint64_t& number) {
    if (bytes_.size() < sizeof(number)) return false;
    std::memcpy(&number, bytes_.data(), sizeof(number));
    bytes_.remove_prefix(sizeof(number));
    return true;
  }
  bool Bytes(absl::string_view& part) {
    std::uint64_t length = 0;
    if (!Number(length) || length > bytes_.size()) return false;
    part = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return true;
  }
  bool done() const { return bytes_.empty(); }

 private:
  absl::string_view bytes_;
};

std::string Packed(const CachedFingerprints& fingerprints) {
  std::string bytes(kVersion);
  for (const std::string& part :
       {fingerprints.weights.SerializeAsString(), fingerprints.settings.SerializeAsString()}) {
    Append(bytes, part.size());
    bytes += part;
  }
  Append(bytes, fingerprints.has_values ? 1 : 0);
  for (const auto& [name, values] : fingerprints.values) {
    Append(bytes, name.size());
    bytes += name;
    Append(bytes, values.size() * sizeof(double));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  return bytes + Sha256(bytes);
}

std::optional<CachedFingerprints> Unpacked(absl::string_view bytes) {
  if (bytes.size() < kVersion.size() + kDigestBytes || !absl::StartsWith(bytes, kVersion)) return std::nullopt;
  const absl::string_view body = bytes.substr(0, bytes.size() - kDigestBytes);
  if (Sha256(body) != bytes.substr(body.size())) return std::nullopt;
  CachedFingerprints result;
  Reader reader(body.substr(kVersion.size()));
  absl::string_view weights, settings, name, values;
  std::uint64_t has_values = 0;
  const auto parse = [](absl::string_view part, google::protobuf::MessageLite& message) {
    return message.ParseFromArray(part.data(), static_cast<int>(part.size()));
  };
  if (!reader.Bytes(weights) || !parse(weights, result.weights)) return std::nullopt;
  if (!reader.Bytes(settings) || !parse(settings, result.settings)) return std::nullopt;
  if (!reader.Number(has_values)) return std::nullopt;
  result.has_values = has_values == 1;
  while (!reader.done()) {
    if (!reader.Bytes(name) || !reader.Bytes(values)) return std::nullopt;
    std::vector<double>& kept = result.values[std::string(name)];
    kept.resize(values.size() / sizeof(double));
    std::memcpy(kept.data(), values.data(), kept.size() * sizeof(double));
  }
  return result;
}

}  // namespace

FingerprintCache::FingerprintCache(std::string folder, bool read, std::uint64_t limit_bytes)
    : folder_(folder.empty() ? "" : JoinPath(folder, "weights")), read_(read), limit_bytes_(limit_bytes) {}

std::string FingerprintCache::PathOf(const std::vector<FileInfo>& files) const {
  std::string key;
  for (const FileInfo& file : files) {
    Append(key, file.device);
    Append(key, file.inode);
    Append(key, file.size_bytes);
    Append(key, static_cast<std::uint64_t>(file.mtime_ns));
    Append(key, static_cast<std::uint64_t>(file.ctime_ns));
  }
  return JoinPath(folder_, ToHex(Sha256(key)));
}

std::optional<CachedFingerprints> FingerprintCache::Find(const std::vector<FileInfo>& files) const {
  if (folder_.empty() || !read_ || files.empty()) return std::nullopt;
  auto bytes = ReadWholeFile(PosixFileSystem(), PathOf(files), kEntryBytesMax);
  if (!bytes.ok()) return std::nullopt;
  return Unpacked(*bytes);
}

void FingerprintCache::Add(const std::vector<FileInfo>& files, const CachedFingerprints& fingerprints,
                           absl::Time began) const {
  if (folder_.empty() || files.empty()) return;
  const std::int64_t safe_ns = absl::ToUnixNanos(began) - kMarginNs;
  const bool young = std::any_of(files.begin(), files.end(), [&](const FileInfo& file) {
    return file.inode == 0 || std::max(file.mtime_ns, file.ctime_ns) > safe_ns;
  });
  if (young) return;
  const std::string bytes = Packed(fingerprints);
  if (bytes.size() > kEntryBytesMax) return;
  ::mkdir(std::string(DirName(folder_)).c_str(), 0700);
  ::mkdir(folder_.c_str(), 0700);
  // A cache that cannot be written costs the next audit its time, and this one nothing.
  (void)WriteFileAtomically(PathOf(files), bytes);
  Prune();
}

void FingerprintCache::Prune() const {
  FileSystem& fs = PosixFileSystem();
  std::vector<std::pair<FileInfo, std::string>> entries;
  std::uint64_t bytes = 0;
  const absl::Status listed = fs.List(folder_, [&](const DirectoryEntry& entry) {
    const std::string path = JoinPath(folder_, entry.name);
    const auto info = fs.LStat(path);
    if (!info.ok() || info->type != FileInfo::Type::kRegular) return;
    bytes += info->size_bytes;
    entries.emplace_back(*info, path);
  });
  if (!listed.ok()) return;
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.mtime_ns, a.second) < std::tie(b.first.mtime_ns, b.second);
  });
  for (const auto& [info, path] : entries) {
    if (bytes <= limit_bytes_) return;
    if (::unlink(path.c_str()) == 0) bytes -= info.size_bytes;
  }
}

}  // namespace paritect
