// Every kernel that this processor can run, against OpenSSL.
#include "common/md5/md5_lanes.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/digest.h"

namespace paritect {
namespace {

std::string Noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// A message and its padding, as blocks.
std::string Padded(const std::string& message) {
  unsigned char last[128] = {};
  const std::size_t used = message.size() % kMd5BlockBytes;
  std::copy(message.end() - static_cast<std::ptrdiff_t>(used), message.end(), last);
  const std::size_t blocks = Md5Pad(last, message.size());
  return message.substr(0, message.size() - used) +
         std::string(reinterpret_cast<const char*>(last), blocks * kMd5BlockBytes);
}

using RunLanes = void (*)(absl::Span<Md5Lane>, std::size_t);

// Digests of all messages, hashed side by side: what is shorter ends earlier, and the others go on in fewer lanes.
std::vector<std::string> HashTogether(const std::vector<std::string>& messages, RunLanes run) {
  std::vector<std::string> padded;
  for (const std::string& message : messages) padded.push_back(Padded(message));
  std::vector<Md5State> states(messages.size());
  std::vector<std::size_t> done(messages.size(), 0);
  for (;;) {
    std::vector<Md5Lane> lanes;
    std::vector<std::size_t> owners;
    std::size_t blocks = 0;
    for (std::size_t i = 0; i < padded.size() && lanes.size() < kMd5LanesMax; ++i) {
      const std::size_t left = (padded[i].size() - done[i]) / kMd5BlockBytes;
      if (left == 0) continue;
      blocks = lanes.empty() ? left : std::min(blocks, left);
      lanes.push_back({states[i], reinterpret_cast<const unsigned char*>(padded[i].data()) + done[i]});
      owners.push_back(i);
    }
    if (lanes.empty()) break;
    run(absl::MakeSpan(lanes), blocks);
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      states[owners[k]] = lanes[k].state;
      done[owners[k]] += blocks * kMd5BlockBytes;
      EXPECT_EQ(lanes[k].data, reinterpret_cast<const unsigned char*>(padded[owners[k]].data()) + done[owners[k]]);
    }
  }
  std::vector<std::string> digests;
  for (const Md5State& state : states) {
    unsigned char digest[kMd5Bytes];
    Md5Digest(state, digest);
    digests.emplace_back(reinterpret_cast<const char*>(digest), kMd5Bytes);
  }
  return digests;
}

class Md5Targets : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  static void ExpectRight(const std::vector<std::string>& messages) {
    // As it is called, and by vectors alone, which few lanes may be left out of.
    for (const RunLanes run : {&Md5RunLanes, &Md5RunVectors}) ExpectRight(messages, run);
  }
  static void ExpectRight(const std::vector<std::string>& messages, RunLanes run) {
    const std::vector<std::string> digests = HashTogether(messages, run);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      ASSERT_EQ(ToHex(digests[i]), ToHex(Md5(messages[i]))) << messages[i].size() << " bytes, " << Md5LanesTarget();
    }
  }
};

TEST_P(Md5Targets, EveryLengthTo300) {
  std::vector<std::string> messages;
  for (std::size_t length = 0; length <= 300; ++length) messages.push_back(Noise(length, 7));
  ExpectRight(messages);
}

TEST_P(Md5Targets, RandomLengths) {
  std::mt19937 random(11);
  std::vector<std::string> messages;
  for (unsigned i = 0; i < 300; ++i) messages.push_back(Noise(random() % 20'000, i));
  ExpectRight(messages);
}

// Each number of lanes takes its own path through the kernels.
TEST_P(Md5Targets, EveryNumberOfLanes) {
  for (std::size_t count = 1; count <= kMd5LanesMax; ++count) {
    std::vector<std::string> messages;
    for (unsigned i = 0; i < count; ++i) messages.push_back(Noise(700, 100 * static_cast<unsigned>(count) + i));
    ExpectRight(messages);
  }
}

TEST_P(Md5Targets, DataNeedNotBeAligned) {
  const std::string base = Noise(5000, 3);
  std::vector<Md5Lane> lanes(9);
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].data = reinterpret_cast<const unsigned char*>(&base[i]);
  Md5RunVectors(absl::MakeSpan(lanes), 3);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Md5Lane alone = {.data = reinterpret_cast<const unsigned char*>(&base[i])};
    Md5RunScalar(alone, 3);
    EXPECT_EQ(lanes[i].state, alone.state) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Md5Targets, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) {
                           return absl::StrCat(hwy::TargetName(target.param), "_", target.index);
                         });

TEST(Md5Lanes, NoLanesAndNoBlocksDoNothing) {
  Md5RunLanes({}, 5);
  Md5Lane lane;
  Md5RunLanes(absl::MakeSpan(&lane, 1), 0);
  EXPECT_EQ(lane.state, Md5State());
}

// A state saved after a whole number of blocks is all that is needed to go on.
TEST(Md5Lanes, GoesOnFromASavedState) {
  const std::string message = Noise(10'000, 5);
  const std::string padded = Padded(message);
  const auto* data = reinterpret_cast<const unsigned char*>(padded.data());
  Md5Lane first = {.data = data};
  Md5RunLanes(absl::MakeSpan(&first, 1), 64);
  Md5Lane second = {.state = first.state, .data = data + 4096};
  Md5RunLanes(absl::MakeSpan(&second, 1), padded.size() / kMd5BlockBytes - 64);
  unsigned char digest[kMd5Bytes];
  Md5Digest(second.state, digest);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(digest), kMd5Bytes), Md5(message));
}

}  // namespace
}  // namespace paritect
