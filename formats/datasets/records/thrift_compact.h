// A bounded reader of Thrift's compact protocol, as far as Parquet's footer needs it.
// Source: Apache Thrift, doc/specs/thrift-compact-protocol.md.
#ifndef PARITECT_FORMATS_DATASETS_RECORDS_THRIFT_COMPACT_H_
#define PARITECT_FORMATS_DATASETS_RECORDS_THRIFT_COMPACT_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace paritect {

class ThriftReader {
 public:
  enum Type {
    kStop = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI16 = 4,
    kI32 = 5,
    kI64 = 6,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12
  };

  explicit ThriftReader(absl::string_view bytes) : bytes_(bytes) {}

  // Calls `field` for every field of the struct that begins here; it reads the value or calls Skip. False once
  // anything was wrong.
  bool Struct(absl::FunctionRef<void(int id, Type type)> field);
  // Calls `element` for every element of the list that begins here.
  bool List(absl::FunctionRef<void(Type type)> element);
  std::int64_t Integer();
  void Skip(Type type);

  bool good() const { return good_; }
  std::size_t at() const { return at_; }

 private:
  static constexpr int kDepthMax = 32;
  std::uint64_t Varint();
  unsigned char Byte();
  void Fail() { good_ = false; }

  absl::string_view bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool good_ = true;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_RECORDS_THRIFT_COMPACT_H_
