// memory: the same contract without a file: for tests, and as the model that the file-backed store is compared with.
#include <unistd.h>
#include <algorithm>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

class FleetMemory : public FleetStore {
 public:
  absl::Status Commit(absl::Span<const WriteSet* const> sets) override {
    for (const WriteSet* set : sets) PARITECT_RETURN_IF_ERROR(CheckWriteSet(*set));
    absl::MutexLock lock(&mutex_);
    // All that can refuse is asked before anything changes.
    std::map<StreamKey, std::uint64_t> streams;
    for (const WriteSet* set : sets) {
      for (const BatchWrite& batch : set->batches) PARITECT_RETURN_IF_ERROR(Advance(batch, streams));
    }
    for (const auto& [key, last] : streams) streams_[key] = last;
    for (const WriteSet* set : sets) Write(*set);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view collection, absl::string_view key) override {
    absl::MutexLock lock(&mutex_);
    const auto found = documents_.find({std::string(collection), std::string(key)});
    if (found == documents_.end()) return std::nullopt;
    return *found->second.value;
  }

  absl::Status Scan(absl::string_view collection, absl::string_view prefix, absl::string_view after,
                    absl::FunctionRef<bool(absl::string_view, absl::string_view)> visit) override {
    std::string from = std::max(std::string(prefix), std::string(after));
    for (bool skip = !after.empty() && from == after;;) {
      std::string value;
      {
        absl::MutexLock lock(&mutex_);
        const DocumentKey key = {std::string(collection), from};
        const auto row = skip ? documents_.upper_bound(key) : documents_.lower_bound(key);
        if (row == documents_.end() || row->first.first != collection) return absl::OkStatus();
        if (!absl::StartsWith(row->first.second, prefix)) return absl::OkStatus();
        from = row->first.second;
        value = *row->second.value;
      }
      skip = true;
      if (!visit(from, value)) return absl::OkStatus();
    }
  }

  absl::StatusOr<std::string> Content(absl::string_view sha256) override {
    absl::MutexLock lock(&mutex_);
    const auto found = contents_.find(std::string(sha256));
    if (found == contents_.end()) return absl::NotFoundError(absl::StrCat("no content with SHA-256 ", ToHex(sha256)));
    return found->second.bytes;
  }

  absl::StatusOr<bool> HasContent(absl::string_view sha256) override {
    absl::MutexLock lock(&mutex_);
    return Has(sha256, 0);
  }

  absl::StatusOr<bool> HasNode(absl::string_view sha256, int level) override {
    absl::MutexLock lock(&mutex_);
    return Has(sha256, level);
  }

  absl::Status ScanBatches(absl::string_view node, absl::FunctionRef<bool(const BatchWrite&)> visit) override {
    for (std::int64_t after = 0;;) {
      BatchWrite batch;
      {
        absl::MutexLock lock(&mutex_);
        const auto row = batches_.upper_bound(after);
        if (row == batches_.end()) return absl::OkStatus();
        after = row->first;
        if (!node.empty() && row->second.node != node) continue;
        batch = row->second;
      }
      batch.references.clear();
      if (!visit(batch)) return absl::OkStatus();
    }
  }

  absl::StatusOr<std::int64_t> DropBatches(std::int64_t received_before_unix_ms) override {
    absl::MutexLock lock(&mutex_);
    return static_cast<std::int64_t>(std::erase_if(
        batches_, [&](const auto& row) { return row.second.received_unix_ms < received_before_unix_ms; }));
  }

  absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLog(std::int64_t from, int limit) override {
    absl::MutexLock lock(&mutex_);
    std::vector<v1::AuditLogEntry> out;
    for (auto i = static_cast<std::size_t>(std::max<std::int64_t>(from, 1) - 1); i < log_.size(); ++i) {
      if (out.size() >= static_cast<std::size_t>(std::max(limit, 0))) break;
      out.push_back(log_[i]);
    }
    return out;
  }

  absl::Status Backup(absl::string_view path) override {
    const std::string temporary = absl::StrCat(path, ".memory", getpid());
    absl::Status status;
    {
      PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> copy, OpenFleetStore("sqlite:" + temporary));
      const WriteSet all = Everything();
      const WriteSet* const sets[] = {&all};
      status = copy->Commit(sets);
      if (status.ok()) status = copy->Backup(path);
    }
    for (const char* tail : {"", "-wal", "-shm", ".lock"}) unlink((temporary + tail).c_str());
    return status;
  }

  absl::StatusOr<std::vector<std::string>> Verify(absl::FunctionRef<bool()> stop) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> problems;
    for (const auto& [digest, content] : contents_) {
      if (stop()) return absl::CancelledError("stopped before everything was read");
      if (Sha256(content.bytes) != digest) problems.push_back(absl::StrCat("content ", ToHex(digest), " is damaged"));
    }
    for (std::size_t i = 0; i < log_.size(); ++i) {
      const std::string problem = CheckLogLink(i == 0 ? nullptr : &log_[i - 1], log_[i]);
      if (!problem.empty()) problems.push_back(problem);
    }
    return problems;
  }

  absl::Status Compact() override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> open;
    for (const auto& [key, document] : documents_) {
      open.insert(open.end(), document.references.begin(), document.references.end());
    }
    for (const auto& [id, batch] : batches_) open.insert(open.end(), batch.references.begin(), batch.references.end());
    absl::flat_hash_set<std::string> used;
    while (!open.empty()) {
      const std::string digest = std::move(open.back());
      open.pop_back();
      const auto content = contents_.find(digest);
      if (!used.insert(digest).second || content == contents_.end() || content->second.level == 0) continue;
      for (std::string& child : ContentChildren(content->second.bytes)) open.push_back(std::move(child));
    }
    std::erase_if(contents_, [&](const auto& content) { return !used.contains(content.first); });
    return absl::OkStatus();
  }

  absl::StatusOr<FleetStoreStats> Stats() override {
    absl::MutexLock lock(&mutex_);
    FleetStoreStats stats;
    stats.documents = static_cast<std::int64_t>(documents_.size());
    stats.contents = static_cast<std::int64_t>(contents_.size());
    stats.batches = static_cast<std::int64_t>(batches_.size());
    stats.log_entries = static_cast<std::int64_t>(log_.size());
    if (!log_.empty()) stats.log_head.set_number(log_.back().number());
    if (!log_.empty()) stats.log_head.set_hash(log_.back().hash());
    return stats;
  }

 private:
  using DocumentKey = std::pair<std::string, std::string>;  // collection, key
  using StreamKey = std::pair<std::string, std::uint64_t>;  // node, epoch

  absl::Status Advance(const BatchWrite& batch, std::map<StreamKey, std::uint64_t>& streams)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const StreamKey key = {batch.node, batch.epoch};
    const auto stored = streams_.find(key);
    const auto [last, added] = streams.emplace(key, stored == streams_.end() ? 0 : stored->second);
    PARITECT_RETURN_IF_ERROR(CheckBatchFollows(batch, last->second));
    last->second = batch.last_sequence;
    return absl::OkStatus();
  }

  bool Has(absl::string_view sha256, int level) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = contents_.find(std::string(sha256));
    return found != contents_.end() && (level == 0 || found->second.level == level);
  }

  void WriteContent(const ContentWrite& content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (content.level > 0) {
      for (const std::string& child : ContentChildren(content.bytes)) {
        if (!Has(child, content.level - 1)) return;
      }
    }
    const auto [known, added] = contents_.emplace(content.sha256, content);
    if (!added && known->second.level == 0) known->second.level = content.level;
  }

  void Write(const WriteSet& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const ContentWrite& content : set.contents) WriteContent(content);
    for (const DocumentWrite& document : set.documents) {
      const DocumentKey key = {document.collection, document.key};
      if (document.value) {
        documents_[key] = document;
      } else {
        documents_.erase(key);
      }
    }
    for (const BatchWrite& batch : set.batches) batches_.emplace(++last_batch_, batch);
    for (v1::AuditLogEntry entry : set.log) {
      ChainLogEntry(log_.empty() ? nullptr : &log_.back(), entry);
      log_.push_back(std::move(entry));
    }
  }

  WriteSet Everything() {
    absl::MutexLock lock(&mutex_);
    WriteSet all;
    for (const auto& [key, document] : documents_) all.documents.push_back(document);
    for (const auto& [digest, content] : contents_) all.contents.push_back(content);
    std::stable_sort(all.contents.begin(), all.contents.end(),
                     [](const ContentWrite& a, const ContentWrite& b) { return a.level < b.level; });
    for (const auto& [id, batch] : batches_) all.batches.push_back(batch);
    all.log = log_;
    return all;
  }

  absl::Mutex mutex_;
  std::map<DocumentKey, DocumentWrite> documents_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ContentWrite> contents_ ABSL_GUARDED_BY(mutex_);
  std::map<std::int64_t, BatchWrite> batches_ ABSL_GUARDED_BY(mutex_);
  std::map<StreamKey, std::uint64_t> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AuditLogEntry> log_ ABSL_GUARDED_BY(mutex_);
  std::int64_t last_batch_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::StatusOr<std::unique_ptr<FleetStore>> Open(absl::string_view, const FleetStoreOptions&) {
  return std::make_unique<FleetMemory>();
}

}  // namespace

extern const FleetBackend kMemoryFleetBackend;
const FleetBackend kMemoryFleetBackend = {"memory", &Open};

}  // namespace paritect
