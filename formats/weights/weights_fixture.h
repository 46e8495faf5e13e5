// For tests and fuzzing: small checkpoints of every format, made in memory, and ways to look at what was read.
#ifndef PARITECT_FORMATS_WEIGHTS_WEIGHTS_FIXTURE_H_
#define PARITECT_FORMATS_WEIGHTS_WEIGHTS_FIXTURE_H_

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/crc.h"
#include "common/little_endian.h"
#include "common/memory_file_system.h"
#include "formats/archives/zip_fixture.h"
#include "formats/weights/weights_format.h"

namespace paritect {

inline std::string Floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += LittleEndianBytes(std::bit_cast<std::uint32_t>(value), 4);
  return bytes;
}

// --- safetensors
inline std::string SafetensorsFile(absl::string_view header, absl::string_view data) {
  return absl::StrCat(LittleEndianBytes(header.size(), 8), header, data);
}
inline std::string SampleSafetensors() {
  return SafetensorsFile(R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                         R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},"__metadata__":{"format":"pt"}})",
                         Floats({1, 2, 3, 4}) + std::string("\x80\x3f\x00\x40\x40\x40", 6));
}

// --- protocol buffers' wire
inline std::string WireVarint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
inline std::string WireBytes(int field, absl::string_view bytes) {
  return absl::StrCat(WireVarint(static_cast<std::uint64_t>(field) << 3 | 2), WireVarint(bytes.size()), bytes);
}
inline std::string WireNumber(int field, std::uint64_t value) {
  return absl::StrCat(WireVarint(static_cast<std::uint64_t>(field) << 3), WireVarint(value));
}

// --- MindSpore
inline std::string MindsporeValue(absl::string_view tag, absl::string_view type, const std::vector<std::int64_t>& dims,
                                  absl::string_view content) {
  std::string tensor;
  for (const std::int64_t extent : dims) tensor += WireNumber(1, static_cast<std::uint64_t>(extent));
  absl::StrAppend(&tensor, WireBytes(2, type), WireBytes(3, content));
  return WireBytes(1, absl::StrCat(WireBytes(1, tag), WireBytes(2, tensor)));
}
inline std::string WithMindsporeCrc(const std::string& file) {
  const std::uint32_t crc = Crc32(0, file);
  std::string tail = absl::StrCat("crc_num", std::string(6, '\0'));
  for (int shift = 24; shift >= 0; shift -= 8) tail.push_back(static_cast<char>(crc >> shift));
  return file + tail;
}
inline std::string SampleMindspore() {
  return WithMindsporeCrc(absl::StrCat(MindsporeValue("conv.weight", "Float32", {2, 2}, Floats({1, 2, 3, 4})),
                                       MindsporeValue("big", "Float32", {4}, Floats({1, 2})),
                                       MindsporeValue("big", "Float32", {4}, Floats({3, 4})),
                                       MindsporeValue("scale_sense", "Float32", {0}, Floats({1024})),
                                       MindsporeValue("note", "str", {0}, absl::string_view("a\0\0\0b\0\0\0", 8))));
}

// --- numpy
inline std::string NpyFile(absl::string_view dictionary, absl::string_view data) {
  const std::string header = absl::StrCat(dictionary, "\n");
  return absl::StrCat(absl::string_view("\x93NUMPY\x01\0", 8), LittleEndianBytes(header.size(), 2), header, data);
}
inline std::string SampleNpy() {
  return NpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", Floats({1, 2, 3, 4}));
}
inline std::string SampleNpz() {
  return MakeZip({{"w.npy", SampleNpy(), true}, {"b.npy", SampleNpy(), false}});
}

// --- GGUF
inline std::string GgufText(absl::string_view text) {
  return absl::StrCat(LittleEndianBytes(text.size(), 8), text);
}
inline std::string GgufInfo(absl::string_view name, const std::vector<std::uint64_t>& inner_first, std::uint32_t type,
                            std::uint64_t offset) {
  std::string info = absl::StrCat(GgufText(name), LittleEndianBytes(inner_first.size(), 4));
  for (const std::uint64_t extent : inner_first) info += LittleEndianBytes(extent, 8);
  return absl::StrCat(info, LittleEndianBytes(type, 4), LittleEndianBytes(offset, 8));
}
inline std::string GgufFile(const std::vector<std::string>& pairs, const std::vector<std::string>& infos,
                            absl::string_view data) {
  std::string file =
      absl::StrCat("GGUF", LittleEndianBytes(3, 4), LittleEndianBytes(infos.size(), 8),
                   LittleEndianBytes(pairs.size(), 8), absl::StrJoin(pairs, ""), absl::StrJoin(infos, ""));
  file.resize((file.size() + 31) / 32 * 32);
  return absl::StrCat(file, data);
}
inline std::string SampleGguf() {
  return GgufFile({absl::StrCat(GgufText("general.name"), LittleEndianBytes(8, 4), GgufText("tiny")),
                   absl::StrCat(GgufText("tokens"), LittleEndianBytes(9, 4), LittleEndianBytes(8, 4),
                                LittleEndianBytes(1, 8), GgufText("a"))},
                  {GgufInfo("w", {3, 2}, 0, 0), GgufInfo("q", {32}, 8, 32)},
                  Floats({1, 2, 3, 4, 5, 6, 0, 0}) + std::string(34, '\x01'));
}

// --- ONNX
inline std::string OnnxModel(const std::vector<std::string>& tensors) {
  std::string graph;
  for (const std::string& tensor : tensors) graph += WireBytes(5, tensor);
  return absl::StrCat(WireNumber(1, 7), WireBytes(2, "test"), WireBytes(7, graph), WireBytes(8, WireNumber(2, 13)));
}
inline std::string SampleOnnx() {
  return OnnxModel(
      {absl::StrCat(WireNumber(1, 2), WireNumber(2, 1), WireBytes(8, "raw"), WireBytes(9, Floats({1, 2}))),
       absl::StrCat(WireNumber(1, 2), WireNumber(2, 1), WireBytes(8, "floats"), WireBytes(4, Floats({3, 4}))),
       absl::StrCat(WireNumber(1, 3), WireNumber(2, 6), WireBytes(8, "ints"),
                    WireBytes(5, absl::StrCat(WireVarint(1), WireVarint(300), WireVarint(~0ull))))});
}

// --- pickles of protocol 2, put together from parts
inline std::string PickleText(absl::string_view text) {
  return absl::StrCat("X", LittleEndianBytes(text.size(), 4), text);
}
inline std::string PickleInteger(std::int32_t value) {
  return absl::StrCat("J", LittleEndianBytes(static_cast<std::uint32_t>(value), 4));
}
inline std::string PickleNumber(double value) {
  const std::string little = LittleEndianBytes(std::bit_cast<std::uint64_t>(value), 8);
  return absl::StrCat("G", std::string(little.rbegin(), little.rend()));
}
inline std::string PickleTuple(const std::vector<std::string>& items) {
  return absl::StrCat("(", absl::StrJoin(items, ""), "t");
}
inline std::string PickleDict(const std::vector<std::string>& pairs) {
  return absl::StrCat("}(", absl::StrJoin(pairs, ""), "u");
}
inline std::string PickleName(absl::string_view module, absl::string_view name) {
  return absl::StrCat("c", module, "\n", name, "\n");
}
inline std::string PickleCall(absl::string_view module, absl::string_view name,
                              const std::vector<std::string>& arguments) {
  return absl::StrCat(PickleName(module, name), PickleTuple(arguments), "R");
}
// An instance that is made without a call and given its attributes.
inline std::string PickleInstance(absl::string_view module, absl::string_view name,
                                  const std::vector<std::string>& pairs) {
  return absl::StrCat(PickleName(module, name), ")\x81", PickleDict(pairs), "b");
}
inline std::string PickleIntegers(const std::vector<std::int32_t>& values) {
  std::vector<std::string> items;
  for (const std::int32_t value : values) items.push_back(PickleInteger(value));
  return PickleTuple(items);
}
inline std::string PickleTensor(absl::string_view key, absl::string_view storage, std::int32_t elements,
                                std::int32_t offset, const std::vector<std::int32_t>& size,
                                const std::vector<std::int32_t>& strides, bool legacy = false) {
  std::vector<std::string> id = {PickleText("storage"), PickleName("torch", storage), PickleText(key),
                                 PickleText("npu:0"), PickleInteger(elements)};
  if (legacy) id.push_back("N");
  return PickleCall("torch._utils", "_rebuild_tensor_v2",
                    {absl::StrCat(PickleTuple(id), "Q"), PickleInteger(offset), PickleIntegers(size),
                     PickleIntegers(strides), "\x89", PickleCall("collections", "OrderedDict", {})});
}
inline std::string PickleFile(absl::string_view body) {
  return absl::StrCat("\x80\x02", body, ".");
}

// --- torch
inline std::string TorchZip(absl::string_view body, const std::map<std::string, std::string>& storages,
                            absl::string_view byte_order = "little") {
  std::vector<ZipFile> files = {{"archive/data.pkl", PickleFile(body)}, {"archive/byteorder", std::string(byte_order)}};
  for (const auto& [key, bytes] : storages) files.push_back({absl::StrCat("archive/data/", key), bytes});
  files.push_back({"archive/version", "3\n"});
  return MakeZip(files);
}
inline std::string SampleTorchBody(bool legacy = false) {
  return PickleDict(
      {PickleText("model"),
       PickleDict({PickleText("w"), PickleTensor("0", "FloatStorage", 6, 0, {2, 3}, {3, 1}, legacy), PickleText("wt"),
                   PickleTensor("0", "FloatStorage", 6, 0, {3, 2}, {1, 3}, legacy), PickleText("tied"),
                   PickleTensor("0", "FloatStorage", 6, 0, {2, 3}, {3, 1}, legacy)}),
       PickleText("optimizer"),
       PickleDict({PickleText("lr"), PickleNumber(0.125), PickleText("betas"),
                   PickleTuple({PickleNumber(0.5), PickleNumber(0.25)}), PickleText("step"), PickleInteger(7)})});
}
inline std::string SampleTorchZip() {
  return TorchZip(SampleTorchBody(), {{"0", Floats({1, 2, 3, 4, 5, 6})}});
}
inline std::string TorchLegacy(absl::string_view body, absl::string_view keys, absl::string_view storages) {
  const std::string magic = absl::StrCat("\x8a\x0a", absl::string_view("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10));
  return absl::StrCat(PickleFile(magic), PickleFile(PickleInteger(1001)),
                      PickleFile(PickleDict({PickleText("little_endian"), "\x88"})), PickleFile(body), PickleFile(keys),
                      storages);
}
inline std::string SampleTorchLegacy() {
  return TorchLegacy(SampleTorchBody(true), absl::StrCat("](", PickleText("0"), "e"),
                     LittleEndianBytes(6, 8) + Floats({1, 2, 3, 4, 5, 6}));
}

// --- TensorFlow
inline std::string TableBlock(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string block;
  for (const auto& [key, value] : entries) {
    absl::StrAppend(&block, WireVarint(0), WireVarint(key.size()), WireVarint(value.size()), key, value);
  }
  absl::StrAppend(&block, LittleEndianBytes(0, 4), LittleEndianBytes(1, 4));
  block.push_back('\0');  // not compressed
  return block + LittleEndianBytes(MaskedCrc32c(block), 4);
}
inline std::string SortedTable(const std::vector<std::pair<std::string, std::string>>& entries) {
  const std::string data = TableBlock(entries);
  const std::string index = TableBlock({{"~", WireVarint(0) + WireVarint(data.size() - 5)}});
  std::string footer =
      absl::StrCat(WireVarint(0), WireVarint(0), WireVarint(data.size()), WireVarint(index.size() - 5));
  footer.resize(40);
  return absl::StrCat(data, index, footer, LittleEndianBytes(0xdb4775248b80fb57, 8));
}
inline std::string TfEntry(std::uint64_t type, const std::vector<std::uint64_t>& shape, std::uint64_t offset,
                           absl::string_view bytes) {
  std::string dims;
  for (const std::uint64_t extent : shape) dims += WireBytes(2, WireNumber(1, extent));
  const std::uint32_t crc = MaskedCrc32c(bytes);
  return absl::StrCat(WireNumber(1, type), WireBytes(2, dims), WireNumber(4, offset), WireNumber(5, bytes.size()),
                      WireVarint(6 << 3 | 5), LittleEndianBytes(crc, 4));
}
// As TensorFlow's ordered code has it: -1 for a length is all of the axis.
inline std::string TfOrderedNumber(std::int64_t value) {
  const auto size = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  std::size_t length = 1;
  while (length < 10 && size >> (7 * length - 1) != 0) ++length;
  std::string bytes(length, '\0');
  for (std::size_t i = 0; i < length && i < 8; ++i) bytes[length - 1 - i] = static_cast<char>(size >> 8 * i);
  for (std::size_t i = 0; i < length; ++i) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 0x80 >> i % 8);
  if (value < 0) {
    for (char& byte : bytes) byte = static_cast<char>(~byte);
  }
  return bytes;
}
inline std::string TfSliceKey(absl::string_view name,
                              const std::vector<std::pair<std::int64_t, std::int64_t>>& extents) {
  std::string key = absl::StrCat(std::string(1, '\0'), name, std::string("\0\1\1", 3));
  key.push_back(static_cast<char>(extents.size()));
  for (const auto& [start, length] : extents) key += TfOrderedNumber(start) + TfOrderedNumber(length);
  return key;
}

inline std::string SampleTfIndex() {
  return SortedTable({{"", WireNumber(1, 1)},
                      {"dense/kernel", TfEntry(1, {2, 2}, 0, Floats({1, 2, 3, 4}))},
                      {"global_step", TfEntry(9, {}, 16, LittleEndianBytes(12, 8))}});
}
inline std::string SampleTfData() {
  return Floats({1, 2, 3, 4}) + LittleEndianBytes(12, 8);
}

// --- looking
inline absl::StatusOr<std::unique_ptr<StoredTensors>> OpenBytes(absl::string_view bytes,
                                                                const std::string& path = "/model") {
  static auto* const systems = new std::vector<std::unique_ptr<MemoryFileSystem>>;  // outlive what is read
  systems->push_back(std::make_unique<MemoryFileSystem>());
  systems->back()->AddFile(path, bytes);
  return OpenWeights(*systems->back(), path);
}
inline absl::StatusOr<std::string> ReadTensor(StoredTensors& source, std::size_t index) {
  std::string bytes;
  const absl::Status status = source.Read(index, [&](absl::string_view block) {
    absl::StrAppend(&bytes, block);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return bytes;
}
// "NAME DTYPE [2,3]" of each.
inline std::vector<std::string> Listed(const StoredTensors& source) {
  std::vector<std::string> lines;
  for (const TensorInfo& info : source.tensors()) {
    lines.push_back(absl::StrCat(info.name, " ", info.dtype_word, " [", absl::StrJoin(info.shape, ","), "]"));
  }
  return lines;
}
// "NAME=VALUE" of each fact.
inline std::vector<std::string> Facts(const StoredTensors& source) {
  std::vector<std::string> lines;
  for (const v1::CheckpointFact& fact : source.about().facts()) {
    lines.push_back(absl::StrCat(fact.name(), "=", fact.value().ShortDebugString()));
  }
  return lines;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_WEIGHTS_FIXTURE_H_
