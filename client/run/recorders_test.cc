#include "client/run/recorders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

Recorders Both() {
  Recorders recorders;
  recorders.library = "/p/libparitect-trace.so";
  recorders.observer = "/p/observer";
  recorders.traced = true;
  return recorders;
}

TEST(Recorders, StandBesideWhatTheCallerSet) {
  const auto environment = CommandEnvironment({"LD_PRELOAD=/own.so", "PYTHONPATH=/own", "A=b", "PYTHONPATHS=x"}, Both(),
                                              {"/r/trace", "/r/observe"}, {"/data"});
  EXPECT_THAT(environment, ElementsAre("A=b", "PYTHONPATHS=x", "LD_PRELOAD=/own.so:/p/libparitect-trace.so",
                                       "PARITECT_TRACE_DIR=/r/trace", "PARITECT_TRACE_ROOTS=/data",
                                       "PYTHON_PARITECT_OBSERVE=/r/observe", "PYTHON_PARITECT_OBSERVER=/p/observer",
                                       "PYTHON_PARITECT_LEVEL=full", "PYTHONPATH=/p/observer/site:/own"));
}

TEST(Recorders, OfARecordingAroundThisOneNothingIsLeft) {
  const auto environment = CommandEnvironment(
      {"PARITECT_TRACE_DIR=/old", "PARITECT_TRACE_ROOTS=/old", "PYTHON_PARITECT_OBSERVE=/old"}, Recorders(), {}, {});
  EXPECT_THAT(environment, ElementsAre());
}

TEST(Recorders, ObservingAloneNeedsTheLibraryAsTheWayIn) {
  Recorders recorders = Both();
  recorders.traced = false;
  recorders.level = "light";
  const auto environment = CommandEnvironment({}, recorders, {"", "/r/observe"}, {});
  EXPECT_THAT(environment, Contains("LD_PRELOAD=/p/libparitect-trace.so"));
  EXPECT_THAT(environment, Contains("PYTHON_PARITECT_LEVEL=light"));
  EXPECT_THAT(environment, Not(Contains(StartsWith("PARITECT_TRACE_DIR="))));
  recorders.library.clear();
  EXPECT_THAT(CommandEnvironment({}, recorders, {"", "/r/observe"}, {}), Not(Contains(StartsWith("LD_PRELOAD="))));
}

TEST(Recorders, RootsThatTheRecorderWouldTakeApartAreLeftOut) {
  const auto environment = CommandEnvironment({}, Both(), {"/r/trace", "/r/observe"}, {"/a:b"});
  EXPECT_THAT(environment, Not(Contains(StartsWith("PARITECT_TRACE_ROOTS="))));
}

TEST(Recorders, Levels) {
  EXPECT_TRUE(IsObserveLevel("full") && IsObserveLevel("light"));
  EXPECT_FALSE(IsObserveLevel("") || IsObserveLevel("off") || IsObserveLevel("Full"));
}

}  // namespace
}  // namespace paritect
