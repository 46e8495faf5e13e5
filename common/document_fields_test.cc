#include "common/document_fields.h"
#include "common/status_testing.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

DocumentNode Doc(absl::string_view text) {
  return *ParseDocument(text);
}

TEST(ReadMap, NamesTheKnownKeys) {
  std::string slot;
  const auto read = [&](const DocumentNode& v) { return ReadText(v, "name", slot); };
  EXPECT_TRUE(ReadMap(Doc("{name: a}"), "a thing", {{"name", read}}).ok());
  EXPECT_EQ(slot, "a");
  const absl::Status status = ReadMap(Doc("{nmae: a}"), "a thing", {{"name", read}});
  EXPECT_EQ(status.message(), "1:2: unknown key 'nmae' in a thing; known: name");
  EXPECT_EQ(ReadMap(Doc("[1]"), "a thing", {{"name", read}}).message(), "1:1: a thing must be a map");
}

TEST(ReadCount, RefusesWhatIsNoCount) {
  EXPECT_EQ(*ReadCount(Doc("7"), "n", 1), 7);
  for (const char* bad : {"0", "-1", "1.5", "'7'", "99999999999", "[1]", "x"}) {
    EXPECT_EQ(CodeOf(ReadCount(Doc(bad), "n", 1)), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(ReadWord, TellsTheChoice) {
  std::string slot;
  EXPECT_TRUE(ReadWord(Doc("b"), "w", {"a", "b"}, slot).ok());
  EXPECT_EQ(ReadWord(Doc("c"), "w", {"a", "b"}, slot).message(), "1:1: `w` must be one of a | b, not 'c'");
}

}  // namespace
}  // namespace paritect
