#include "agent/daemon/network_mounts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(NetworkMounts, NamesWhatSeveralNodesMayShare) {
  EXPECT_THAT(
      NetworkMounts("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
                    "90 22 0:52 / /data\\040sets rw,relatime shared:50 - nfs4 nas:/export/data rw,vers=4.2\n"
                    "91 22 0:53 /sub /scratch rw - lustre 10.0.0.1@tcp:/scratch rw\n"
                    "92 22 0:54 / /home/u rw - fuse.sshfs user@host:/ rw\n"),
      ElementsAre(Pair("/data sets", "nfs nas:/export/data /"), Pair("/scratch", "lustre 10.0.0.1@tcp:/scratch /sub")));
  // What covers it counts.
  EXPECT_THAT(NetworkMounts("90 22 0:52 / /data rw - nfs nas:/export rw\n91 90 8:2 / /data rw - ext4 /dev/vdb rw\n"),
              IsEmpty());
  for (const char* odd : {"", "\n\n", "1 2 3", " - ", "1 2 3 4 5 6 - nfs"}) EXPECT_THAT(NetworkMounts(odd), IsEmpty());
}

}  // namespace
}  // namespace paritect
