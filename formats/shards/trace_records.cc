#include "formats/shards/trace_records.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr absl::string_view kVersion = "1";
constexpr std::size_t kAncestorsMax = 64;

using Variables = std::map<std::string, std::string, std::less<>>;

TraceRank RankOf(const Variables& variables) {
  const LaunchPlace place = BuiltInLaunchers().PlaceOf([&](absl::string_view name) {
    const auto value = variables.find(name);
    return value == variables.end() ? absl::string_view() : absl::string_view(value->second);
  });
  TraceRank out;
  out.rank = place.rank;
  out.world_size = place.world_size;
  out.restarts = place.restarts;
  out.local = place.of_process;
  if (!place.disagreeing.empty()) out.disagreement = absl::StrCat(place.counted, " counts, not ", place.disagreeing);
  return out;
}

class Reader {
 public:
  TraceFile Read(absl::string_view bytes) && {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\0');
      if (end == absl::string_view::npos) {
        ++out_.damaged;
        break;
      }
      if (!ReadRecord(bytes.substr(0, end))) ++out_.damaged;
      bytes.remove_prefix(end + 1);
    }
    CloseImage();
    return std::move(out_);
  }

 private:
  // Cuts "123 " off; false where no number stands.
  static bool TakeNumber(absl::string_view& text, std::int64_t& value) {
    const std::size_t space = std::min(text.find(' '), text.size());
    auto number = ParseInt(text.substr(0, space));
    if (!number) return false;
    value = *number;
    text.remove_prefix(std::min(space + 1, text.size()));
    return true;
  }

  bool ReadRecord(absl::string_view record) {
    if (absl::StartsWith(record, kTraceMagic)) return BeginImage(record.substr(kTraceMagic.size()));
    if (out_.images.empty() || record.size() < 3 || record[1] != ' ') return false;
    TraceImage& image = out_.images.back();
    absl::string_view rest = record.substr(2);
    switch (record[0]) {
      case 'h': image.host = std::string(rest); return true;
      case 'x': image.executable = std::string(rest); return true;
      case 'w': return true;
      case 'b': image.executed = rest == "exec"; return true;
      case 'a': return ReadAncestor(rest);
      case 'v': return ReadVariable(rest);
      case 'o':
      case 'O': return ReadOpen(rest, record[0] == 'O');
      case 'd':
      case 's': return ReadFolder(rest, record[0] == 's');
      case 'n': return ReadNames(rest);
      case 'e': return ReadFolderEnd(rest);
      case 'r': return ReadGiven(rest);
      case 'u': return ReadUnseen(rest);
      case 'f': image.full = true; return true;
      case 'q': image.stopped = true; return true;
      case 'm': image.once = true; return true;
      case 'j': image.joined_late = true; return true;
      case 'l': return ReadLost(rest);
      default: return false;
    }
  }

  bool BeginImage(absl::string_view rest) {
    CloseImage();
    variables_.clear();
    given_.clear();
    rank_ = TraceRank();
    folders_.clear();
    TraceImage& image = out_.images.emplace_back();
    const std::size_t space = std::min(rest.find(' '), rest.size());
    rest.remove_prefix(std::min(space + 1, rest.size()));
    return TakeNumber(rest, image.pid) && TakeNumber(rest, image.parent) && TakeNumber(rest, image.start);
  }

  // What was opened before the rank was known belongs to the first rank that the process got.
  void CloseImage() {
    if (out_.images.empty()) return;
    TraceImage& image = out_.images.back();
    image.rank = RankOf(variables_);
    auto first = std::find_if(image.opens.begin(), image.opens.end(), [](const TraceOpen& o) { return o.rank.rank; });
    const TraceRank rank = first == image.opens.end() ? image.rank : first->rank;
    for (auto it = image.opens.begin(); it != first; ++it) it->rank = rank;
  }

  bool ReadAncestor(absl::string_view rest) {
    std::int64_t pid = 0, start = 0;
    if (!TakeNumber(rest, pid) || !TakeNumber(rest, start)) return false;
    if (out_.images.back().ancestors.size() < kAncestorsMax) out_.images.back().ancestors.emplace_back(pid, start);
    return true;
  }

  bool ReadVariable(absl::string_view rest) {
    const std::size_t equal = rest.find('=');
    if (equal == absl::string_view::npos) return false;
    variables_[std::string(rest.substr(0, equal))] = std::string(rest.substr(equal + 1));
    rank_ = RankOf(variables_);
    return true;
  }

  // A variable of the environment that the next 'u' is started with.
  bool ReadGiven(absl::string_view rest) {
    const std::size_t equal = rest.find('=');
    if (equal == absl::string_view::npos) return false;
    given_[std::string(rest.substr(0, equal))] = std::string(rest.substr(equal + 1));
    return true;
  }

  bool ReadUnseen(absl::string_view rest) {
    TraceImage& image = out_.images.back();
    const std::optional<std::int32_t> rank = RankOf(given_).rank;
    given_.clear();
    if (rank && rank != rank_.rank) {
      image.unseen_ranks.emplace_back(std::string(rest), *rank);
    } else {
      image.unseen.emplace_back(rest);
    }
    return true;
  }

  bool ReadOpen(absl::string_view rest, bool of_thread) {
    TraceOpen open;
    if (of_thread && !TakeNumber(rest, open.thread)) return false;
    if (!TakeNumber(rest, open.at_ns) || rest.empty()) return false;
    open.path = std::string(rest);
    if (!variables_.empty()) open.rank = rank_;
    out_.images.back().opens.push_back(std::move(open));
    return true;
  }

  bool ReadLost(absl::string_view rest) {
    std::int64_t count = 0;
    if (!TakeNumber(rest, count)) return false;
    out_.images.back().lost += count;
    return true;
  }

  TraceListing* Folder(absl::string_view& rest) {
    std::int64_t id = 0;
    if (!TakeNumber(rest, id)) return nullptr;
    auto it = folders_.find(id);
    return it == folders_.end() ? nullptr : &out_.images.back().listings[it->second];
  }

  bool ReadFolder(absl::string_view rest, bool sorted) {
    std::int64_t id = 0, at_ns = 0;
    if (!TakeNumber(rest, id) || !TakeNumber(rest, at_ns) || rest.empty()) return false;
    folders_[id] = out_.images.back().listings.size();
    TraceListing& listing = out_.images.back().listings.emplace_back();
    listing.folder = std::string(rest);
    listing.sorted = sorted;
    return true;
  }

  bool ReadNames(absl::string_view rest) {
    TraceListing* listing = Folder(rest);
    if (listing == nullptr) return false;
    for (absl::string_view name : absl::StrSplit(rest, '/')) listing->names.emplace_back(name);
    return true;
  }

  bool ReadFolderEnd(absl::string_view rest) {
    TraceListing* listing = Folder(rest);
    std::int64_t count = 0;
    if (listing == nullptr || !TakeNumber(rest, count)) return false;
    listing->whole = rest == "c" && static_cast<std::int64_t>(listing->names.size()) == count;
    return true;
  }

  TraceFile out_;
  Variables variables_, given_;
  TraceRank rank_;
  std::map<std::int64_t, std::size_t> folders_;  // id: index in the image's listings
};

}  // namespace

absl::StatusOr<TraceFile> ReadTraceFile(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kTraceMagic)) return absl::UnimplementedError("no record of libparitect-trace.so");
  const absl::string_view version = bytes.substr(kTraceMagic.size()).substr(0, 2);
  if (version != absl::StrCat(kVersion, " ")) {
    return absl::UnimplementedError(absl::StrCat("records of another version: ", version));
  }
  return Reader().Read(bytes);
}

}  // namespace paritect
