// The spool against a model that only knows what was promised: whatever fails, and whenever the power goes, every
// accepted record is read back or told as dropped, no number ever names two records, and the entries cover every
// number.
#include <cstdlib>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/spool/fault_disk.h"
#include "agent/spool/spool.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using Fault = FaultDisk::Fault;

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint64_t Below(std::uint64_t end) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 13) % end;
  }

 private:
  std::uint64_t state_;
};

class Model {
 public:
  explicit Model(std::uint64_t seed) : disk_(seed), numbers_(seed) {
    options_.max_bytes = 96 << 10;
    options_.max_age_ms = 1'000'000;
  }

  FaultDisk& disk() { return disk_; }
  Numbers& numbers() { return numbers_; }
  bool is_open() const { return spool_ != nullptr; }
  void PassTime(std::int64_t ms) { now_ms_ += ms; }

  bool Open() {
    auto spool = Spool::Open(
        "spool", options_, [this] { return now_ms_; }, disk_);
    if (!spool.ok()) return false;
    spool_ = *std::move(spool);
    EXPECT_TRUE(accepted_.empty() || spool_->epoch() == epoch_) << "records were accepted, and the epoch changed";
    epoch_ = spool_->epoch();
    return true;
  }

  void Close() { spool_.reset(); }
  void LosePower() {
    spool_.reset();
    disk_.Restart();
  }
  // As SIGKILL: what was written stays, the end is not noted.
  void Kill() {
    disk_.FailAt(1, Fault::kIoError, 1000);
    spool_.reset();
    disk_.FailNever();
  }

  absl::Status Append(RecordClass record_class, std::size_t records, std::size_t bytes) {
    std::vector<NewRecord> batch;
    for (std::size_t i = 0; i < records; ++i) {
      const std::string name = absl::StrCat(++appended_, record_class == RecordClass::kBulk ? "b" : "c", "/");
      batch.push_back({name + std::string(numbers_.Below(bytes), 'P'), static_cast<std::int64_t>(appended_)});
      attempted_[appended_] = batch.back().payload;
    }
    const auto last = spool_->Append(record_class, batch);
    if (!last.ok()) return last.status();
    for (std::size_t i = 0; i < records; ++i) {
      const std::uint64_t sequence = *last - records + 1 + i;
      EXPECT_FALSE(accepted_.contains(sequence)) << sequence << " was given twice";
      Name(sequence, batch[i].payload);
      accepted_[sequence] = {record_class, batch[i].payload};
    }
    return absl::OkStatus();
  }

  // With a disk that works an Append may only say that critical records fill the spool.
  void AppendOrMakeRoom(RecordClass record_class) {
    absl::Status status = Append(record_class, 2, 100);
    if (absl::IsResourceExhausted(status)) {
      Acknowledge(spool_->Stats().accepted_sequence);
      status = Append(record_class, 2, 100);
    }
    EXPECT_TRUE(status.ok()) << status;
  }

  void Acknowledge(std::uint64_t sequence) {
    const SpoolStats stats = spool_->Stats();
    sequence = std::min(sequence, stats.accepted_sequence);
    const absl::Status status = spool_->Acknowledge(sequence);
    if (status.code() != absl::StatusCode::kInvalidArgument) acknowledged_ = std::max(acknowledged_, sequence);
  }
  void AcknowledgeSome() {
    const SpoolStats stats = spool_->Stats();
    const std::uint64_t open = stats.accepted_sequence - stats.low_water;
    // Gaps of unused numbers are wide: from the records' side.
    Acknowledge(stats.low_water + (open > 0 ? numbers_.Below(std::min<std::uint64_t>(open + 1, 40)) : 0));
  }

  void Verify() {
    const SpoolStats stats = spool_->Stats();
    EXPECT_GE(stats.low_water, 0u);
    // Files that a failing disk would not remove or cut are counted at the next start and go with the next append.
    EXPECT_LE(stats.bytes, options_.max_bytes + (16 << 10));
    std::set<std::uint64_t> seen;
    std::uint64_t position = stats.low_water + 1;
    int tries = 0;
    while (position <= stats.accepted_sequence) {
      const auto entries = spool_->Read(position, 1 + numbers_.Below(20'000), 1 + numbers_.Below(9));
      if (!entries.ok()) {
        if (disk_.dead()) return;
        ASSERT_LT(++tries, 30) << entries.status();
        continue;
      }
      ASSERT_FALSE(entries->empty()) << position << " of " << stats.accepted_sequence;
      for (const SpoolEntry& entry : *entries) {
        ASSERT_EQ(entry.sequence, position) << "the entries leave numbers out";
        position = entry.last_sequence + 1;
        if (entry.is_gap()) {
          CheckGap(entry);
        } else {
          CheckRecord(entry);
          seen.insert(entry.sequence);
        }
      }
    }
    for (auto it = accepted_.upper_bound(std::max(acknowledged_, stats.low_water)); it != accepted_.end(); ++it) {
      if (!dropped_.contains(it->first)) {
        ASSERT_TRUE(seen.contains(it->first)) << it->first << " was accepted and is lost";
      }
    }
  }

 private:
  struct Accepted {
    RecordClass record_class;
    std::string payload;
  };

  void Name(std::uint64_t sequence, const std::string& payload) {
    const auto [it, is_new] = names_.emplace(std::make_pair(epoch_, sequence), payload);
    EXPECT_TRUE(is_new || it->second == payload) << sequence << " names two records";
  }

  void CheckGap(const SpoolEntry& gap) {
    EXPECT_NE(gap.gap, GapReason::kDamaged) << gap.sequence << ".." << gap.last_sequence << ": nothing was damaged";
    for (auto it = accepted_.lower_bound(gap.sequence); it != accepted_.end() && it->first <= gap.last_sequence; ++it) {
      EXPECT_TRUE(IsLoss(gap.gap)) << it->first << " was accepted; told as never used";
      EXPECT_EQ(it->second.record_class, RecordClass::kBulk) << it->first << " is critical and was dropped";
      dropped_.insert(it->first);
    }
  }

  void CheckRecord(const SpoolEntry& record) {
    const std::vector<std::string> parts = absl::StrSplit(record.payload, absl::MaxSplits('b', 1));
    const auto attempted = attempted_.find(static_cast<std::uint64_t>(record.observed_ms));
    ASSERT_NE(attempted, attempted_.end()) << "a record that nobody appended";
    EXPECT_EQ(attempted->second, record.payload);
    EXPECT_EQ(record.record_class, parts.size() == 2 ? RecordClass::kBulk : RecordClass::kCritical);
    EXPECT_FALSE(dropped_.contains(record.sequence)) << record.sequence << " was told as dropped";
    Name(record.sequence, record.payload);
  }

  FaultDisk disk_;
  Numbers numbers_;
  SpoolOptions options_;
  std::int64_t now_ms_ = 1'700'000'000'000;
  std::unique_ptr<Spool> spool_;
  std::uint64_t epoch_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::map<std::uint64_t, std::string> attempted_;  // by observed_ms, which is unique here
  std::map<std::uint64_t, Accepted> accepted_;
  std::set<std::uint64_t> dropped_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> names_;  // of every (epoch, sequence) ever seen
};

// Everything a spool does, in little: several segments of both classes, acknowledgements, drops for space and age.
void Work(Model& model, int rounds) {
  for (int round = 0; round < rounds && !model.disk().dead(); ++round) {
    if (!model.is_open() && !model.Open()) continue;
    (void)model.Append(RecordClass::kBulk, 3, 4000);
    (void)model.Append(RecordClass::kCritical, 1, 1500);
    (void)model.Append(RecordClass::kBulk, 1, 200);
    if (round % 7 == 3) model.AcknowledgeSome();
    if (round % 5 == 4) model.PassTime(300'000);
  }
}

// The fault is put at every call of the work in turn, until the work ends before it.
void SweepOverCalls(Fault fault, std::uint64_t times, std::uint64_t seed) {
  for (std::uint64_t call = 1;; ++call) {
    SCOPED_TRACE(absl::StrCat("fault ", static_cast<int>(fault), " at call ", call, ", seed ", seed));
    Model model(seed + call * 1000);
    model.disk().FailAt(call, fault, times);
    Work(model, 24);
    const bool over = model.disk().calls() < call;
    if (fault == Fault::kPowerLoss) {
      model.LosePower();
    } else {
      model.disk().FailNever();
      if (!model.is_open()) {
        ASSERT_TRUE(model.Open());
      }
      model.Verify();
      // The spool recovers by itself once the cause is gone.
      model.AppendOrMakeRoom(RecordClass::kCritical);
      model.Verify();
      if (call % 2 == 0) model.LosePower();
      model.Kill();
    }
    ASSERT_TRUE(model.Open());
    model.Verify();
    model.AppendOrMakeRoom(RecordClass::kBulk);
    model.AppendOrMakeRoom(RecordClass::kCritical);
    model.Verify();
    model.Close();
    ASSERT_TRUE(model.Open());
    model.Verify();
    if (over || testing::Test::HasFailure()) return;
  }
}

TEST(SpoolModel, ThePowerGoesAtEveryCall) {
  for (const std::uint64_t seed : {1, 2, 3}) SweepOverCalls(Fault::kPowerLoss, 1, seed);
}

TEST(SpoolModel, TheDiskIsFullAtEveryCall) {
  SweepOverCalls(Fault::kNoSpace, 1, 4);
  SweepOverCalls(Fault::kNoSpace, 12, 5);
}

TEST(SpoolModel, EveryCallFailsOnce) {
  SweepOverCalls(Fault::kIoError, 1, 6);
  SweepOverCalls(Fault::kIoError, 12, 7);
}

void RandomLife(std::uint64_t seed) {
  Model model(seed);
  Numbers& numbers = model.numbers();
  for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
    if (model.disk().dead()) model.LosePower();
    if (!model.is_open()) {
      if (!model.Open()) continue;
      model.Verify();
    }
    switch (numbers.Below(16)) {
      case 0: model.LosePower(); break;
      case 1: model.Kill(); break;
      case 2: model.Close(); break;
      case 3: model.disk().FailAt(1 + numbers.Below(20), Fault::kPowerLoss); break;
      case 4: model.disk().FailAt(1 + numbers.Below(10), Fault::kNoSpace, 1 + numbers.Below(6)); break;
      case 5: model.disk().FailAt(1 + numbers.Below(10), Fault::kIoError, 1 + numbers.Below(3)); break;
      case 6: model.PassTime(static_cast<std::int64_t>(numbers.Below(600'000))); break;
      case 7: model.AcknowledgeSome(); break;
      case 8:
        model.disk().FailNever();
        model.Verify();
        break;
      default: {
        const auto record_class = numbers.Below(4) == 0 ? RecordClass::kCritical : RecordClass::kBulk;
        (void)model.Append(record_class, 1 + numbers.Below(4), 1 + numbers.Below(2500));
      }
    }
  }
}

// PARITECT_SPOOL_LIVES=FIRST:COUNT tries others.
std::pair<std::uint64_t, std::uint64_t> Seeds() {
  const char* wanted = std::getenv("PARITECT_SPOOL_LIVES");
  std::pair<std::uint64_t, std::uint64_t> range = {1, 300};
  if (wanted == nullptr) return range;
  const std::vector<std::string> parts = absl::StrSplit(wanted, ':');
  EXPECT_TRUE(parts.size() == 2 && absl::SimpleAtoi(parts[0], &range.first) &&
              absl::SimpleAtoi(parts[1], &range.second));
  return range;
}

TEST(SpoolModel, RandomLives) {
  const auto [first, count] = Seeds();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomLife(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace paritect
