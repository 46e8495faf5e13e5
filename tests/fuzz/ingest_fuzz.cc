// Batches that agents send: whatever the bytes, the watermark moves by what was taken, what is refused is recorded, and
// the write set keeps the store's rules.
#include "server/ingest.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  v1::Batch batch;
  if (!batch.ParseFromArray(data, static_cast<int>(size))) return 0;
  v1::Watermark watermark;
  // Half of the inputs meet a node that has delivered before.
  if (size % 2 == 1) watermark.set_durable_sequence(3);
  const auto result = IngestBatch("node", watermark, batch, 1);
  if (!result.ok()) return 0;
  FuzzCheck(result->watermark.durable_sequence() >= watermark.durable_sequence(), "the watermark never goes back");
  FuzzCheck(CheckWriteSet(result->set).ok(), "what is to be written keeps the store's rules");
  FuzzCheck(result->watermark.lost_records() >= 0, "losses are counted without overflow");
  const bool moved = result->watermark.durable_sequence() != watermark.durable_sequence();
  FuzzCheck(moved == (result->set.batches.size() == 1), "what was taken is in one batch");
  if (!moved) return 0;
  const BatchWrite& write = result->set.batches.front();
  FuzzCheck(CheckBatchFollows(write, watermark.durable_sequence()).ok(), "the batch follows the one before");
  FuzzCheck(write.last_sequence == result->watermark.durable_sequence(), "and ends at the watermark");
  v1::Batch stored;
  FuzzCheck(stored.ParseFromString(write.payload), "the stored batch can be read");
  FuzzCheck(stored.epoch() == batch.epoch(), "and is of the epoch");
  // Again, it is known.
  const auto again = IngestBatch("node", result->watermark, batch, 2);
  FuzzCheck(again.ok() && again->watermark.durable_sequence() >= result->watermark.durable_sequence(), "and again");
  return 0;
}
