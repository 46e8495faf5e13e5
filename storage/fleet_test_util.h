// What tests of the fleet's store share.
#ifndef PARITECT_STORAGE_FLEET_TEST_UTIL_H_
#define PARITECT_STORAGE_FLEET_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "storage/fleet_store.h"

namespace paritect {

inline std::string NewStorePath(absl::string_view name) {
  static int count = 0;
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/fleet_test_", ::getpid(), "_", count++, "_", name, ".db");
  for (const char* tail : {"", "-wal", "-shm", "-journal", ".lock", ".mark"}) ::unlink((path + tail).c_str());
  return path;
}

// The backends that a test program runs the contract over, and a new, empty store of one of them: its URI, and that
// opened.
std::vector<std::string> TestBackends();
std::string NewTestStore(const std::string& backend);
absl::StatusOr<std::unique_ptr<FleetStore>> OpenTestStore(const std::string& uri);

inline absl::Status CommitOne(FleetStore& store, const WriteSet& set) {
  const WriteSet* const sets[] = {&set};
  return store.Commit(sets);
}

struct PlainDocument {
  std::string collection;
  std::string key;
  std::optional<std::string> value;
};

inline WriteSet Documents(const std::vector<PlainDocument>& documents) {
  WriteSet set;
  for (const PlainDocument& one : documents) set.documents.push_back({one.collection, one.key, one.value, {}});
  return set;
}

inline BatchWrite Batch(std::string node, std::uint64_t epoch, std::uint64_t first, std::uint64_t last,
                        std::int64_t received_unix_ms) {
  BatchWrite batch;
  batch.payload = absl::StrCat("batch of ", node, " ", epoch, " ", first, " ", last);
  batch.node = std::move(node);
  batch.epoch = epoch;
  batch.first_sequence = first;
  batch.last_sequence = last;
  batch.received_unix_ms = received_unix_ms;
  return batch;
}

inline v1::AuditLogEntry LogEntry(const std::string& action) {
  v1::AuditLogEntry entry;
  entry.set_actor("operator/ann");
  entry.set_action(action);
  return entry;
}

// Everything that can be read of a store, as text.
inline std::string Dump(FleetStore& store) {
  std::string out;
  for (const char* collection : {"a", "b"}) {
    EXPECT_TRUE(store
                    .Scan(collection, "", "",
                          [&](absl::string_view key, absl::string_view value) {
                            absl::StrAppend(&out, collection, " ", ToHex(key), "=", value, "\n");
                            return true;
                          })
                    .ok());
  }
  EXPECT_TRUE(store
                  .ScanBatches("",
                               [&](const BatchWrite& batch) {
                                 absl::StrAppend(&out, batch.payload, " ", batch.received_unix_ms, "\n");
                                 return true;
                               })
                  .ok());
  const auto log = store.ReadLog(1, 10'000);
  EXPECT_TRUE(log.ok());
  for (const v1::AuditLogEntry& entry : *log) absl::StrAppend(&out, ToHex(entry.hash()), "\n");
  for (int i = 0; i < 8; ++i) {
    const auto content = store.Content(Sha256(absl::StrCat("c", i)));
    absl::StrAppend(&out, content.ok() ? *content : "none", "\n");
  }
  return out;
}

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_TEST_UTIL_H_
