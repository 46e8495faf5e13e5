// Files of torch.save in both layouts, and hostile pickles in them.
#include "formats/weights/torch_zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/utf8.h"
#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Why(const std::string& bytes) {
  const auto source = OpenBytes(bytes);
  return source.ok() ? "" : std::string(source.status().message());
}
std::string WhyBody(const std::string& body) {
  return Why(TorchZip(body, {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
}
std::string Alone(const std::string& tensor) {
  return PickleDict({PickleText("w"), tensor});
}

void ExpectSample(const absl::StatusOr<std::unique_ptr<StoredTensors>>& source, absl::string_view format) {
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->about().format(), format);
  EXPECT_THAT(Listed(**source), ElementsAre("model.w F32 [2,3]", "model.wt F32 [3,2]", "model.tied F32 [2,3]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ((*source)->tensors()[1].alias_of, "");
  EXPECT_EQ((*source)->tensors()[2].alias_of, "model.w");
  EXPECT_EQ((*source)->tensors()[0].device, "npu:0");
  EXPECT_THAT(Facts(**source), ElementsAre("optimizer.lr=number: 0.125",
                                           "optimizer.betas=list { items { number: 0.5 } items { number: 0.25 } }",
                                           "optimizer.step=integer: 7"));
}

TEST(TorchZip, NestedNamesViewsAndFacts) {
  ExpectSample(OpenBytes(SampleTorchZip()), "torch-zip");
}

TEST(TorchLegacy, ReadsTheSame) {
  ExpectSample(OpenBytes(SampleTorchLegacy()), "torch-legacy");
}

TEST(TorchZip, BigEndianStoragesAreTurnedAround) {
  const auto source = OpenBytes(
      TorchZip(Alone(PickleTensor("0", "ShortStorage", 2, 0, {2}, {1})), {{"0", std::string("\0\1\0\2", 4)}}, "big"));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(ReadTensor(**source, 0).value(), std::string("\1\0\2\0", 4));
}

// collections.OrderedDict keeps its items beside its call; Python 2 wrote them as a list of pairs.
TEST(TorchZip, OrderedDictionariesInBothSpellings) {
  const std::string tensor = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  const std::string call = PickleCall("collections", "OrderedDict", {});
  const std::string pair = absl::StrCat("](", PickleText("w"), tensor, "e");
  for (const std::string& body : {absl::StrCat(call, "(", PickleText("w"), tensor, "u"),
                                  PickleCall("collections", "OrderedDict", {absl::StrCat("](", pair, "e")})}) {
    const auto source = OpenBytes(TorchZip(body, {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(Listed(**source), ElementsAre("w F32 [6]"));
  }
}

TEST(TorchZip, ParametersSayWhetherTheyAreTrained) {
  const std::string tensor = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  const auto parameter = [&](const char* trained) {
    return PickleCall("torch._utils", "_rebuild_parameter", {tensor, trained, "N"});
  };
  const auto source =
      OpenBytes(TorchZip(PickleDict({PickleText("w"), parameter("\x88"), PickleText("frozen"), parameter("\x89"),
                                     PickleText("odd"), parameter("N"), PickleText("detached"), tensor}),
                         {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->tensors().size(), 4U);
  EXPECT_EQ((*source)->tensors()[0].requires_grad, true);
  EXPECT_EQ((*source)->tensors()[1].requires_grad, false);
  EXPECT_EQ((*source)->tensors()[2].requires_grad, std::nullopt);
  EXPECT_EQ((*source)->tensors()[3].requires_grad, std::nullopt) << "state_dict() says nothing of training";
}

// Keys of dictionaries are joined where they are tuples; tuples in these are not followed, however they repeat.
TEST(TorchZip, KeysThatAreTuples) {
  const std::string tensor = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  const std::string flat = PickleTuple({PickleInteger(3), PickleText("a")}), nested = PickleTuple({flat, flat});
  const auto source =
      OpenBytes(TorchZip(PickleDict({flat, tensor, nested, tensor}), {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("3+a F32 [6]", "? F32 [6]"));
}

TEST(TorchZip, ParametersObjectsAndEnumerations) {
  const std::string tensor = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  const auto source = OpenBytes(TorchZip(
      PickleDict(
          {PickleText("p"), PickleCall("torch._utils", "_rebuild_parameter", {tensor, "\x88", "N"}), PickleText("args"),
           PickleInstance("argparse", "Namespace", {PickleText("lr"), PickleNumber(0.5)}), PickleText("kind"),
           PickleCall("builtins", "getattr", {PickleName("megatron.core.enums", "ModelType"), PickleText("encoder")}),
           PickleText("size"), PickleCall("torch", "Size", {PickleIntegers({2, 3})})}),
      {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->tensors()[0].role, v1::TENSOR_ROLE_PARAMETER);
  EXPECT_THAT(Facts(**source), ElementsAre("args.lr=number: 0.5", "kind=text: \"encoder\"",
                                           "size=list { items { integer: 2 } items { integer: 3 } }"));
}

TEST(TorchZip, TensorsWithoutAPlainFormAreListedAndNotRead) {
  const auto source = OpenBytes(
      TorchZip(PickleDict({PickleText("s"), PickleCall("torch._utils", "_rebuild_sparse_tensor", {}), PickleText("n"),
                           PickleCall("torch_npu.utils.serialization", "_rebuild_npu_tensor", {}), PickleText("w"),
                           PickleTensor("0", "QInt8Storage", 6, 0, {6}, {1})}),
               {{"0", "123456"}}));
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->tensors().size(), 3u);
  EXPECT_THAT((*source)->tensors()[1].unreadable, HasSubstr("torch_npu.utils.serialization._rebuild_npu_tensor"));
  EXPECT_THAT((*source)->tensors()[2].unreadable, HasSubstr("QInt8Storage"));
}

TEST(TorchZip, ViewsAndStoragesThatAreNotThere) {
  EXPECT_THAT(WhyBody(Alone(PickleTensor("0", "FloatStorage", 6, 0, {7}, {1}))),
              HasSubstr("tensor w: a view that ends"));
  EXPECT_THAT(WhyBody(Alone(PickleTensor("0", "FloatStorage", 6, 5, {2}, {1}))), HasSubstr("a view that ends"));
  EXPECT_THAT(WhyBody(Alone(PickleTensor("0", "FloatStorage", 6, -1, {2}, {1}))), HasSubstr("is none"));
  EXPECT_THAT(WhyBody(Alone(PickleTensor("0", "FloatStorage", 6, 0, {2, 2}, {1}))), HasSubstr("is none"));
  EXPECT_THAT(WhyBody(Alone(PickleTensor("0", "FloatStorage", 7, 0, {2}, {1}))),
              HasSubstr("7 elements of 4 bytes are stated"));
  EXPECT_THAT(WhyBody(Alone(PickleTensor("1", "FloatStorage", 6, 0, {2}, {1}))),
              HasSubstr("data/1 is not in the archive"));
  EXPECT_THAT(WhyBody(Alone(PickleTensor("0", "FloatStorage", 6, 0, {1 << 18, 1 << 18}, {0, 0}))),
              HasSubstr("expanded view"));
}

TEST(TorchZip, NothingThatActsIsAccepted) {
  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{{"os", "system"},
                                                                                     {"posix", "system"},
                                                                                     {"nt", "system"},
                                                                                     {"subprocess", "Popen"},
                                                                                     {"builtins", "eval"},
                                                                                     {"__builtin__", "exec"},
                                                                                     {"runpy", "_run_code"},
                                                                                     {"torch.hub", "load"},
                                                                                     {"importlib", "import_module"},
                                                                                     {"pip._internal", "main"},
                                                                                     {"some.module", "run_anything"}}) {
    EXPECT_THAT(WhyBody(PickleCall(module, name, {PickleText("echo")})), HasSubstr("loading this file would run it"))
        << module << "." << name;
  }
  EXPECT_THAT(WhyBody(PickleName("os", "system")), HasSubstr("names os.system"));
  const std::string get = PickleCall("builtins", "getattr", {PickleName("torch", "serialization"), PickleText("os")});
  EXPECT_THAT(WhyBody(get), HasSubstr("calls builtins.getattr"));
  const std::string member = PickleCall("builtins", "getattr", {PickleName("a", "Class"), PickleText("m")});
  EXPECT_THAT(WhyBody(absl::StrCat(member, "(tR")), HasSubstr("the result of another call"));
  EXPECT_THAT(WhyBody(absl::StrCat(PickleText("os"), PickleText("system"), "\x93")), HasSubstr("names os.system"));
}

// Since protocol 4 a name may have dots: what a harmless module has imported stands behind it.
TEST(TorchZip, NamesThatReachThroughAModule) {
  const std::string name = absl::StrCat(PickleText("torch.distributed"), PickleText("os.system"), "\x93");
  EXPECT_THAT(WhyBody(absl::StrCat(name, PickleTuple({PickleText("echo")}), "R")),
              HasSubstr("calls torch.distributed.os.system"));
  const std::string nested = absl::StrCat(PickleText("a.config"), PickleText("Outer.Inner"), "\x93");
  EXPECT_EQ(WhyBody(absl::StrCat(nested, PickleTuple({}), "R")), "");
}

// pickle.dump of tensors keeps each storage as a file of the legacy layout, which torch.load is called of.
TEST(TorchLegacy, StoragesWithinAPickle) {
  const auto with = [](const std::string& file) {
    const std::string storage = PickleCall("torch.storage", "_load_from_bytes",
                                           {PickleCall("_codecs", "encode", {PickleText(file), PickleText("latin1")})});
    return OpenBytes(PickleFile(
        Alone(PickleCall("torch._utils", "_rebuild_tensor_v2",
                         {storage, PickleInteger(0), PickleIntegers({6}), PickleIntegers({1}), "\x89", "N"}))));
  };
  std::string plain;  // pickles of protocol 2 without bytes over 127, as UTF-8 has them
  for (int i = 0; i < 5; ++i) plain += "N.";
  const auto source = with(plain);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT((*source)->tensors()[0].unreadable, HasSubstr("save it with torch.save"));
  EXPECT_THAT(std::string(with("N.N.N.cos\nsystem\n(S'id'\ntR.N.").status().message()), HasSubstr("names os.system"));
  EXPECT_THAT(std::string(with("N.N.").status().message()), HasSubstr("a storage in the pickle"));
}

// PyTorch 2 notes beside a view that it is conjugated or negated as it is read.
TEST(TorchZip, ViewsThatAreTurnedWhenRead) {
  const std::string storage = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  ASSERT_THAT(storage, ::testing::EndsWith("tR"));
  const auto with = [&](absl::string_view bit, absl::string_view set) {
    const std::string metadata = PickleDict({PickleText(bit), std::string(set)});
    return OpenBytes(TorchZip(Alone(absl::StrCat(storage.substr(0, storage.size() - 2), metadata, "tR")),
                              {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
  };
  EXPECT_THAT((*with("neg", "\x88"))->tensors()[0].unreadable, HasSubstr("resolve_neg"));
  EXPECT_EQ((*with("neg", "\x89"))->tensors()[0].unreadable, "");
  EXPECT_THAT((*with("conj", "\x88"))->tensors()[0].unreadable, HasSubstr("resolve_conj"));
}

TEST(TorchZip, KeysOfEveryPlainType) {
  const std::string tensor = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  const auto source = OpenBytes(
      TorchZip(PickleDict({"N", tensor, PickleNumber(2.5), tensor, PickleInteger(-3), tensor, "\x88", tensor,
                           absl::StrCat("C\x02", "by"), tensor, PickleTuple({PickleInteger(1), "N"}), tensor}),
               {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source),
              ElementsAre("None F32 [6]", "2.5 F32 [6]", "-3 F32 [6]", "True F32 [6]", "by F32 [6]", "1+None F32 [6]"));
}

// The file is kept: long names are cut at a character, stay apart, and what stands below them is bounded as well.
TEST(TorchZip, NamesThatAreTooLong) {
  const std::string tensor = PickleTensor("0", "FloatStorage", 6, 0, {6}, {1});
  std::string front;
  while (front.size() < kTensorNameBytesMax) front += "层x";
  const auto open = [&] {
    return OpenBytes(TorchZip(PickleDict({PickleText(front + "a"), PickleDict({PickleText("w"), tensor}),
                                          PickleText(front + "b"), PickleDict({PickleText("lr"), PickleNumber(0.5)}),
                                          PickleText(front + "c"), tensor, PickleText("plain"), tensor}),
                              {{"0", Floats({1, 2, 3, 4, 5, 6})}}));
  };
  const auto source = open();
  ASSERT_TRUE(source.ok()) << source.status();
  const std::vector<TensorInfo>& tensors = (*source)->tensors();
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[2].name, "plain");
  EXPECT_EQ(tensors[2].alias_of, tensors[0].name);
  EXPECT_NE(tensors[0].name, tensors[1].name);
  EXPECT_EQ(tensors[1].name, (*open())->tensors()[1].name) << "another side's is cut alike";
  ASSERT_EQ((*source)->about().facts_size(), 1);
  for (const std::string& name : {tensors[0].name, tensors[1].name, (*source)->about().facts(0).name()}) {
    EXPECT_LE(name.size(), kTensorNameBytesMax);
    EXPECT_GT(name.size(), kTensorNameBytesMax - 8);
    EXPECT_TRUE(IsValidUtf8(name));
    EXPECT_EQ(name.substr(0, 400), front.substr(0, 400));
  }
  ASSERT_EQ((*source)->about().notes_size(), 1);
  EXPECT_EQ((*source)->about().notes(0).kind(), "name_cut");
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({1, 2, 3, 4, 5, 6}));
}

TEST(TorchZip, WholeModulesAndScriptsSayWhatToSave) {
  EXPECT_THAT(WhyBody(PickleInstance("torch.nn.modules.linear", "Linear",
                                     {PickleText("_parameters"), "}", PickleText("_modules"), "}"})),
              HasSubstr("save model.state_dict()"));
  EXPECT_THAT(Why(MakeZip({{"a/data.pkl", PickleFile("}")}, {"a/constants.pkl", "x"}, {"a/version", "3"}})),
              HasSubstr("TorchScript"));
}

// Forty lists that each hold the one before twice: 2^40 places, a few hundred bytes.
TEST(TorchZip, DoublingAndDeepPicklesAreRefusedQuickly) {
  std::string doubling =
      "](K\x01K\x02"
      "e";
  std::string deep = "]";
  for (int i = 0; i < 40; ++i)
    absl::StrAppend(&doubling, "q", std::string(1, static_cast<char>(i)), "0](h", std::string(1, static_cast<char>(i)),
                    "h", std::string(1, static_cast<char>(i)), "e");
  for (int i = 0; i < 100; ++i) deep = absl::StrCat("](", deep, "e");
  EXPECT_THAT(WhyBody(doubling), ::testing::AnyOf(HasSubstr("doubles itself"), HasSubstr("nested deeper")));
  EXPECT_THAT(WhyBody(deep), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(WhyBody("]q\x01"
                      "h\x01"
                      "a"),
              HasSubstr("nested deeper than 64"))
      << "a list within itself";
}

TEST(TorchZip, DamagedPickles) {
  EXPECT_THAT(WhyBody("X\xff\xff\xff\x7fshort"), HasSubstr("data.pkl: cut off"));
  EXPECT_THAT(WhyBody("h\x05"), HasSubstr("never kept"));
  EXPECT_THAT(WhyBody("R"), HasSubstr("nothing on the stack"));
  EXPECT_THAT(Why(MakeZip({{"a/data/0", "x"}, {"a/version", "3"}})), HasSubstr("no data.pkl"));
  EXPECT_THAT(Why(MakeZip({{"a/data.pkl", PickleFile("}")}, {"a/data.pkl", PickleFile("]")}})),
              HasSubstr("stands twice"));
}

// torch.load takes any pickle for a file of its own.
TEST(TorchLegacy, APickleAlone) {
  EXPECT_THAT(Why(PickleFile(PickleCall("builtins", "eval", {PickleText("1")}))), HasSubstr("names builtins.eval"));
  EXPECT_THAT(Why("c__builtin__\neval\n(S'1'\ntR."), HasSubstr("names builtins.eval")) << "protocol 0";
  EXPECT_THAT(Why(PickleFile("N") + PickleFile(PickleName("os", "system"))), HasSubstr("names os.system"));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenBytes(PickleFile(PickleIntegers({1, 2}))).status())) << "no tensors";
  const std::string type = absl::StrCat(PickleCall("numpy", "dtype", {PickleText("f4"), "\x89", "\x88"}),
                                        PickleTuple({PickleInteger(3), PickleText("<")}), "b");
  const std::string array = absl::StrCat(
      PickleCall("numpy.core.multiarray", "_reconstruct",
                 {PickleName("numpy", "ndarray"), PickleIntegers({0}), PickleText("b")}),
      PickleTuple({PickleInteger(1), PickleIntegers({2}), type, "\x89", absl::StrCat("C\x08", Floats({1, 2}))}), "b");
  const auto source = OpenBytes(PickleFile(PickleDict({PickleText("w"), array})));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [2]"));
  EXPECT_EQ(ReadTensor(**source, 0).value(), Floats({1, 2}));
}

// Protocol 2 has no bytes: none of them are bytes().
TEST(TorchLegacy, AnEmptyArray) {
  const std::string type = absl::StrCat(PickleCall("numpy", "dtype", {PickleText("f4"), "\x89", "\x88"}),
                                        PickleTuple({PickleInteger(3), PickleText("<")}), "b");
  const std::string array = absl::StrCat(
      PickleCall("numpy.core.multiarray", "_reconstruct",
                 {PickleName("numpy", "ndarray"), PickleIntegers({0}), PickleText("b")}),
      PickleTuple({PickleInteger(1), PickleIntegers({0, 3}), type, "\x89", PickleCall("__builtin__", "bytes", {})}),
      "b");
  const auto source = OpenBytes(PickleFile(PickleDict({PickleText("w"), array})));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [0,3]"));
}

// Storages of quantised tensors stand among the others, whose places follow from their sizes.
TEST(TorchLegacy, QuantisedStoragesAreSteppedOver) {
  const std::string storages = absl::StrCat("](", PickleText("0"), PickleText("1"), "e");
  const auto source =
      OpenBytes(TorchLegacy(PickleDict({PickleText("q"), PickleTensor("0", "QInt8Storage", 3, 0, {3}, {1}),
                                        PickleText("w"), PickleTensor("1", "FloatStorage", 1, 0, {1}, {1})}),
                            storages, LittleEndianBytes(3, 8) + "\1\2\3" + LittleEndianBytes(1, 8) + Floats({5})));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({5}));
}

TEST(TorchLegacy, StoragesThatTheFileCannotHold) {
  const std::string keys = absl::StrCat("](", PickleText("0"), "e");
  EXPECT_THAT(Why(TorchLegacy(SampleTorchBody(true), keys, LittleEndianBytes(7, 8) + Floats({1, 2, 3}))),
              HasSubstr("7 elements of 4 bytes"));
  EXPECT_THAT(Why(TorchLegacy(SampleTorchBody(true), keys, LittleEndianBytes(1ull << 61, 8) + "x")),
              HasSubstr("file cut off?"));
  EXPECT_THAT(Why(TorchLegacy(SampleTorchBody(true), absl::StrCat("](", PickleText("9"), "e"), "")),
              HasSubstr("of no known type"));
  const std::string whole = SampleTorchLegacy();
  EXPECT_THAT(Why(whole.substr(0, 60)), HasSubstr("the pickle at byte"));
}

TEST(TorchZip, AnEmptyCheckpointIsOne) {
  const auto source =
      OpenBytes(TorchZip(PickleInstance("argparse", "Namespace", {PickleText("lr"), PickleNumber(1)}), {}));
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), IsEmpty());
  EXPECT_THAT(Facts(**source), Contains("lr=number: 1"));
}

}  // namespace
}  // namespace paritect
