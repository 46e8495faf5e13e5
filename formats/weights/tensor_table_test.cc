#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

constexpr char kMd5[] = "0123456789abcdef0123456789abcdef";

v1::Weights Read(const std::string& text) {
  const auto source = OpenBytes(text);
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? (*source)->about() : v1::Weights();
}

TEST(TensorTable, TabsCommasAndSpellings) {
  for (const std::string& text :
       {absl::StrCat("name\tdtype\tshape\tmd5\tmin\tmax\tmean\tl2\tnan\n", "conv.weight\ttorch.float32\t2x3\t", kMd5,
                     "\t-1\t2\t0.5\t3\t0\n"),
        absl::StrCat(
            "\xEF\xBB\xBFParameter,Type,Shape,MD5,Min,Max,Mean,Norm,NaN\r\nconv.weight,Float32,\"[2, 3]\",md5:", kMd5,
            ",-1,2,0.5,3,0\r\n"),
        std::string("key;dtype;shape;md5;min;max;mean;l2;nan\n"
                    "conv.weight;F32;(2, 3);0123456789ABCDEF0123456789ABCDEF;-1;2;0.5;3;0\n")}) {
    const v1::Weights weights = Read(text);
    ASSERT_EQ(weights.tensors_size(), 1) << text;
    const v1::TensorFingerprint& tensor = weights.tensors(0);
    EXPECT_EQ(weights.format(), "tensor-table");
    EXPECT_EQ(tensor.name(), "conv.weight");
    EXPECT_EQ(tensor.dtype(), "F32");
    EXPECT_EQ(absl::StrJoin(tensor.shape(), "x"), "2x3");
    EXPECT_EQ(tensor.md5(), kMd5);
    EXPECT_EQ(tensor.statistics().min(), -1);
    EXPECT_EQ(tensor.statistics().sum(), 3);
    EXPECT_EQ(tensor.statistics().sum_of_squares(), 9);
    EXPECT_TRUE(tensor.statistics().has_nan());
    EXPECT_FALSE(tensor.statistics().has_zero()) << "what a table does not state is not known";
  }
}

TEST(TensorTable, ARowThatDoesNotFitMakesItIncomplete) {
  const v1::Weights weights = Read(absl::StrCat("name,shape,md5\na,2,", kMd5, "\nb,2,xyz\nc,2,", kMd5, "\n"));
  EXPECT_EQ(weights.tensors_size(), 1);
  ASSERT_EQ(weights.incomplete_size(), 1);
  EXPECT_EQ(weights.incomplete(0).id(), "weights_table_row");
  EXPECT_EQ(weights.incomplete(0).args().at("line"), "3");
}

TEST(TensorTable, OtherTablesAreNone) {
  EXPECT_TRUE(absl::IsInvalidArgument(OpenBytes("step,loss\n1,2\n").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenBytes("name,md5\na.txt,x\n").status()));
}

}  // namespace
}  // namespace paritect
