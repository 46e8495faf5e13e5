#include "common/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ManPage, HasWhatTheCommandsDeclare) {
  const ManProgram program = {.name = "paritect-agent",
                              .section = 8,
                              .summary = "collect",
                              .synopsis = {"COMMAND [options]"},
                              .commands = {{"join", "HOST:PORT --token T", "make a node",
                                            "--token\tthe token\n-h,--help\tprint this help\nls --wide\t.all\n"}},
                              .exit_status = "0 done"};
  const std::string page = ManPageOf(program, "1.2");
  EXPECT_THAT(page, HasSubstr(".TH PARITECT-AGENT 8 \"\" \"paritect 1.2\" \"System Administration\"\n"));
  EXPECT_THAT(page, HasSubstr("paritect\\-agent \\- collect\n"));
  EXPECT_THAT(page, HasSubstr(".SS join\nmake a node\n.PP\n.B paritect\\-agent join\nHOST:PORT \\-\\-token T\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n.B \\-\\-token\nthe token\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.all\n"));  // a text that would be a request
  EXPECT_THAT(page, Not(HasSubstr("print this help")));
}

}  // namespace
}  // namespace paritect
