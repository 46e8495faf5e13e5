#include "checks/datasets/difference.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "absl/functional/function_ref.h"
#include "common/file_system.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// Pairs what is left on both sides by keys; each file is used once. Several keys a file are possible.
struct Key {
  std::string text;
  std::string detail;
};
using KeysOf = absl::FunctionRef<std::vector<Key>(const NamedFile&)>;

class Matcher {
 public:
  explicit Matcher(DatasetDifference& difference) : difference_(difference) {}

  // Pairs a missing and an extra file that share a key, in path order.
  void Match(KeysOf missing_keys, KeysOf extra_keys,
             absl::FunctionRef<std::string(const NamedFile&, const NamedFile&)> how) {
    if (difference_.missing.empty() || difference_.extra.empty()) return;
    std::map<std::string, Bucket> extras;
    for (const NamedFile* file : difference_.extra) {
      for (const Key& key : extra_keys(*file)) extras[key.text].Add(file, key.detail);
    }
    std::set<const NamedFile*> used;
    for (const NamedFile* file : difference_.missing) {
      for (const Key& key : missing_keys(*file)) {
        auto bucket = extras.find(key.text);
        const Candidate* best = bucket == extras.end() ? nullptr : bucket->second.Take(BaseName(file->path()), used);
        if (best == nullptr) continue;
        const std::string detail = key.detail.empty() ? best->detail : key.detail;
        difference_.renamed.push_back({file, best->file, how(*file, *best->file), detail});
        used.insert(file);
        used.insert(best->file);
        break;
      }
    }
    const auto Used = [&](const NamedFile* file) { return used.contains(file); };
    std::erase_if(difference_.missing, Used);
    std::erase_if(difference_.extra, Used);
  }

 private:
  struct Candidate {
    const NamedFile* file = nullptr;
    std::string detail;
  };

  // The extra files of one key, in path order. Thousands may share one content: each is passed over once.
  class Bucket {
   public:
    void Add(const NamedFile* file, const std::string& detail) {
      by_name_[std::string(BaseName(file->path()))].push_back(candidates_.size());
      candidates_.push_back({file, detail});
    }
    // The first that is not used, one with that last name before all others.
    const Candidate* Take(absl::string_view last_name, const std::set<const NamedFile*>& used) {
      auto named = by_name_.find(last_name);
      if (named != by_name_.end()) {
        std::deque<std::size_t>& queue = named->second;
        while (!queue.empty() && used.contains(candidates_[queue.front()].file)) queue.pop_front();
        if (!queue.empty()) return &candidates_[queue.front()];
      }
      while (next_ < candidates_.size() && used.contains(candidates_[next_].file)) ++next_;
      return next_ < candidates_.size() ? &candidates_[next_] : nullptr;
    }

   private:
    std::vector<Candidate> candidates_;
    std::size_t next_ = 0;
    std::map<std::string, std::deque<std::size_t>, std::less<>> by_name_;
  };

  DatasetDifference& difference_;
};

std::vector<Key> NfcKeys(const NamedFile& file) {
  auto name = NormalizeNfc(file.path());
  return name ? std::vector<Key>{{*name, ""}} : std::vector<Key>{};
}

std::vector<Key> ReadingKeys(const NamedFile& file) {
  std::vector<Key> keys;
  for (const v1::NameReading& reading : file.entry->readings()) {
    keys.push_back({NormalizeNfc(reading.name()).value_or(reading.name()), reading.charset()});
  }
  return keys;
}

std::vector<Key> FoldKeys(const NamedFile& file) {
  return {{FoldCase(file.path()), ""}};
}

std::vector<Key> ContentKeys(const NamedFile& file) {
  const v1::FileEntry& entry = *file.entry;
  const bool empty = entry.has_size_bytes() && entry.size_bytes() == 0;
  if (entry.md5().empty() || empty || HasFileHint(entry, v1::FILE_HINT_EMPTY)) return {};
  return {{entry.md5(), ""}};
}

// Names that differ only in case: which of the missing ones fell into another that is still there.
void FindCollisions(const DatasetView& baseline, const DatasetView& migrated, DatasetDifference& difference) {
  if (difference.missing.empty()) return;
  std::map<std::string, std::vector<const NamedFile*>> gone;
  for (const NamedFile* file : difference.missing) gone[FoldCase(file->path())].push_back(file);
  std::set<const NamedFile*> explained;
  for (const NamedFile& kept : baseline.files) {
    auto it = gone.find(FoldCase(kept.path()));
    if (it == gone.end()) continue;
    const NamedFile* survivor = migrated.Find(kept.path());
    if (survivor == nullptr) continue;
    for (const NamedFile* file : it->second) {
      if (!explained.insert(file).second) continue;
      difference.collisions.push_back({file, &kept, survivor});
    }
  }
  std::erase_if(difference.missing, [&](const NamedFile* file) { return explained.contains(file); });
}

void MatchNames(DatasetDifference& difference) {
  Matcher matcher(difference);
  const auto Always = [](const char* word) {
    return [word](const NamedFile&, const NamedFile&) { return std::string(word); };
  };
  matcher.Match(&NfcKeys, &NfcKeys, Always("unicode_form"));
  matcher.Match(&NfcKeys, &ReadingKeys, Always("other_encoding"));
  matcher.Match(&ReadingKeys, &NfcKeys, Always("other_encoding"));
  matcher.Match(&ReadingKeys, &ReadingKeys, Always("other_encoding"));
  matcher.Match(&FoldKeys, &FoldKeys, Always("case"));
  matcher.Match(&ContentKeys, &ContentKeys, [](const NamedFile& a, const NamedFile& b) {
    return std::string(BaseName(a.path()) == BaseName(b.path()) ? "moved" : "renamed");
  });
}

}  // namespace

bool HasFileHint(const v1::FileEntry& entry, v1::FileHint hint) {
  return std::find(entry.hints().begin(), entry.hints().end(), hint) != entry.hints().end();
}

bool IsDataFile(const v1::FileEntry& entry) {
  return entry.type() != v1::FILE_TYPE_SYMLINK && entry.type() != v1::FILE_TYPE_DIRECTORY;
}

DatasetDifference CompareViews(const DatasetView& baseline, const DatasetView& migrated) {
  DatasetDifference difference;
  auto b = baseline.files.begin();
  auto m = migrated.files.begin();
  while (b != baseline.files.end() || m != migrated.files.end()) {
    const bool only_baseline = m == migrated.files.end() || (b != baseline.files.end() && b->path() < m->path());
    const bool only_migrated = b == baseline.files.end() || (m != migrated.files.end() && m->path() < b->path());
    if (only_baseline) {
      if (!migrated.IsSilentOn(b->path())) difference.missing.push_back(&*b);
      ++b;
    } else if (only_migrated) {
      if (!baseline.IsSilentOn(m->path())) difference.extra.push_back(&*m);
      ++m;
    } else {
      difference.common.push_back({&*b++, &*m++, "", ""});
    }
  }
  FindCollisions(baseline, migrated, difference);
  MatchNames(difference);
  std::sort(difference.renamed.begin(), difference.renamed.end(),
            [](const FilePair& x, const FilePair& y) { return x.baseline->path() < y.baseline->path(); });
  return difference;
}

}  // namespace paritect
