// The order of the house: which room may know which, no circles, every test built, every path in prose there.
// Each test names the offenders; the reasons stand in CONTRIBUTING.md.
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file_system.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "tests/tidy/source_tree.h"

namespace paritect::tidy {
namespace {

constexpr std::uint64_t kCommandsBytesMax = 64 << 20;

std::string FolderOf(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? "" : std::string(path.substr(0, slash));
}

std::string NameOf(absl::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// "checks/series/curves" for its header, its source and its test.
std::string UnitOf(absl::string_view path) {
  for (absl::string_view ending : {"_test.cc", ".cc", ".h", ".c"}) {
    if (absl::ConsumeSuffix(&path, ending)) break;
  }
  return std::string(path);
}

std::vector<std::string> IncludesOf(const SourceFile& file) {
  static const re2::RE2 kInclude("(?m)^\\s*#include \"([a-z_0-9/]+\\.h)\"");
  std::vector<std::string> found;
  re2::StringPiece text(file.text);
  std::string header;
  while (re2::RE2::FindAndConsume(&text, kInclude, &header)) found.push_back(header);
  return found;
}

// Rooms of one folder (with what lies below them) and what each may include beside itself; "." is the floor, without
// main.cc, which wires all. A room that is not named here may be included by nobody and includes nobody: name it.
using Rooms = std::map<std::string, std::set<std::string>>;

const std::map<std::string, Rooms>& RoomsOfFolders() {
  static const auto* const table = new std::map<std::string, Rooms>{
      {"checks",
       {{".", {"explaining"}},
        {"explaining", {"."}},
        {"numbers", {}},
        {"series", {".", "numbers"}},
        {"scripts", {"."}},
        {"observed", {"."}},
        {"settings", {".", "observed", "scripts", "series"}},
        {"datasets", {"."}},
        {"shards", {".", "observed", "scripts", "settings"}},
        {"weights", {".", "observed", "scripts", "settings"}},
        {"runs", {".", "numbers", "observed", "scripts", "series", "settings", "shards", "weights"}},
        {"cluster", {".", "datasets", "observed", "scripts", "settings", "weights"}},
        {"pictures", {".", "datasets", "runs", "series", "shards", "weights"}}}},
      {"agent",
       {{".", {"live"}},
        {"probe", {}},
        {"trace", {}},
        {"observer", {}},
        {"hdf5", {}},
        {"spool", {}},
        {"datasets", {}},
        {"live", {"."}},
        {"weights", {"."}},
        {"uplink", {"spool"}},
        {"collectors", {".", "datasets", "live", "weights"}},
        {"drafting", {"collectors"}},
        {"daemon", {".", "collectors", "datasets", "live", "spool", "uplink"}},
        {"commands", {".", "daemon", "datasets", "uplink"}}}},
      {"client",
       {{".", {"report"}},
        {"manifest", {".", "report"}},
        {"plan", {".", "report"}},
        {"report", {".", "manifest", "plan"}},
        {"remote", {".", "report"}},
        {"render", {"report"}},
        {"fleet", {".", "remote", "report"}},
        {"run", {".", "report"}},
        {"diagnose", {"render", "report"}},
        {"diff", {".", "manifest", "plan", "remote", "render", "report"}},
        {"inspect", {".", "diff"}},
        {"commands", {".", "diagnose", "diff", "fleet", "manifest", "plan", "remote", "render", "report", "run"}}}},
      {"server",
       {{".", {"audits"}},
        {"audits", {"."}},
        {"transport", {".", "audits"}},
        {"commands", {".", "audits", "transport"}}}},
      {"common", {{".", {"pki"}}, {"md5", {}}, {"simd", {}}, {"pki", {"."}}, {"net", {".", "pki"}}}},
      {"rules", {{".", {}}, {"prepare", {"."}}}},
      {"formats",
       {{".", {"archives", "logs"}},
        {"archives", {"."}},
        {"python", {}},
        {"shards", {}},
        {"tensors", {}},
        {"logs", {".", "archives"}},
        {"settings", {".", "archives", "python"}},
        {"devices", {"settings"}},
        {"observer", {"settings"}},
        {"weights", {".", "archives", "settings"}},
        {"datasets", {".", "archives"}}}},
      {"formats/datasets", {{".", {"records"}}, {"records", {"."}}}},
      {"formats/logs", {{".", {"machinery"}}, {"machinery", {"."}}, {"dialects", {".", "machinery"}}}},
      {"formats/settings", {{".", {}}, {"shell", {"."}}, {"forms", {".", "shell"}}}},
  };
  return *table;
}

TEST(House, RoomsIncludeInOneDirection) {
  for (const auto& [folder, rooms] : RoomsOfFolders()) {
    const auto room_of = [&folder = folder](absl::string_view path) -> std::string {
      if (!absl::ConsumePrefix(&path, absl::StrCat(folder, "/"))) return "";
      const std::size_t slash = path.find('/');
      return slash == absl::string_view::npos ? "." : std::string(path.substr(0, slash));
    };
    for (const SourceFile& file : AllFiles()) {
      const std::string room = room_of(file.path);
      if (room.empty() || !IsCpp(file) || IsTest(file) || NameOf(file.path) == "main.cc") continue;
      ASSERT_TRUE(rooms.contains(room)) << file.path << ": the room is not named in RoomsOfFolders()";
      for (const std::string& header : IncludesOf(file)) {
        const std::string other = room_of(header);
        if (other.empty() || other == room) continue;
        EXPECT_TRUE(rooms.at(room).contains(other))
            << file.path << " includes " << header << ", which its room must not know";
      }
    }
  }
}

// A folder that has grown rooms says which knows which.
TEST(House, EveryFolderWithRoomsIsInTheTable) {
  std::map<std::string, std::set<std::string>> rooms;
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || absl::StartsWith(file.path, "tests/") || absl::StrContains(file.path, "/testdata/")) continue;
    for (std::string place = FolderOf(file.path); absl::StrContains(place, '/'); place = FolderOf(place)) {
      rooms[FolderOf(place)].insert(NameOf(place));
    }
  }
  for (const auto& [folder, all] : rooms) {
    EXPECT_TRUE(all.size() < 2 || RoomsOfFolders().contains(folder))
        << folder << " has the rooms " << absl::StrJoin(all, ", ") << ": name them in RoomsOfFolders()";
  }
}

// Strongly connected parts of the graph of includes, found by repeated walks: the house is small enough.
TEST(House, NoCircleOfUnits) {
  std::map<std::string, std::set<std::string>> includes;
  for (const SourceFile& file : AllFiles()) {
    if (IsTest(file) || !(IsCpp(file) || absl::EndsWith(file.path, ".c"))) continue;
    for (const std::string& header : IncludesOf(file)) {
      if (TextOf(header).empty() || UnitOf(header) == UnitOf(file.path)) continue;
      includes[UnitOf(file.path)].insert(UnitOf(header));
    }
  }
  std::map<std::string, std::set<std::string>> reaches;
  for (const auto& [unit, direct] : includes) {
    std::vector<std::string> open(direct.begin(), direct.end());
    std::set<std::string>& seen = reaches[unit];
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      const auto found = includes.find(next);
      if (found != includes.end()) open.insert(open.end(), found->second.begin(), found->second.end());
    }
  }
  for (const auto& [unit, seen] : reaches) {
    if (!seen.contains(unit)) continue;
    std::vector<std::string> circle;
    for (const std::string& other : seen) {
      const auto back = reaches.find(other);
      if (back != reaches.end() && back->second.contains(unit)) circle.push_back(other);
    }
    ADD_FAILURE() << unit << " stands in a circle: " << absl::StrJoin(circle, ", ");
  }
}

// Who looks for a room looks in one document.
TEST(House, EveryRoomIsDescribed) {
  const std::string& text = TextOf("docs/ARCHITECTURE.md");
  std::set<std::string> rooms;
  for (const SourceFile& file : AllFiles()) {
    const std::vector<std::string> parts = absl::StrSplit(FolderOf(file.path), '/');
    if (!IsCpp(file) && !absl::EndsWith(file.path, ".c")) continue;
    rooms.insert(parts.size() < 2 ? parts[0] : absl::StrCat(parts[0], "/", parts[1]));
  }
  for (const std::string& room : rooms) {
    const bool described = absl::StrContains(text, absl::StrCat("`", room, "/`")) ||
                           absl::StrContains(text, absl::StrCat("`", NameOf(room), "/`"));
    EXPECT_TRUE(described) << "docs/ARCHITECTURE.md does not say what " << room << " is for";
  }
}

// What no target compiles cannot fail.
TEST(House, EveryTestIsBuilt) {
  const std::string path = absl::StrCat(PARITECT_BINARY_DIR, "/compile_commands.json");
  const auto commands = ReadWholeFile(PosixFileSystem(), path, kCommandsBytesMax);
  ASSERT_TRUE(commands.ok()) << commands.status();
  for (const SourceFile& file : AllFiles()) {
    if (!absl::EndsWith(file.path, "_test.cc")) continue;
    EXPECT_TRUE(absl::StrContains(*commands, absl::StrCat("/", file.path, "\"")))
        << file.path << " is built by no target: name it in its CMakeLists.txt";
  }
}

// A test stands beside what it tests; one that crosses files says in its first line what it is about.
TEST(House, TestsStandBesideWhatTheyTest) {
  for (const SourceFile& file : AllFiles()) {
    if (!absl::EndsWith(file.path, "_test.cc")) continue;
    const std::string unit = UnitOf(file.path);
    const bool beside = !TextOf(absl::StrCat(unit, ".cc")).empty() || !TextOf(absl::StrCat(unit, ".h")).empty() ||
                        !TextOf(absl::StrCat(unit, ".c")).empty();
    EXPECT_TRUE(beside || absl::StartsWith(file.text, "// "))
        << file.path << " has no source of its stem beside it, and no first line that says what it is about";
  }
}

// Files of other projects are named as sources, with their project: these are not looked for.
bool IsForeign(absl::string_view line) {
  static const re2::RE2 kForeign(
      "(?i)source|tensorflow|mindspore|dmlc|dcmi|npu_attrs|linux/|grpcpp/|/include/|\\bx\\.cc|x_test\\.cc|NAME");
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), kForeign);
}

TEST(House, FilesNamedInCommentsAreThere) {
  static const re2::RE2 kFile("(?:^|[ (`\"'])((?:[a-z_0-9]+/)*[a-z_0-9]+\\.(?:h|cc|inc|proto))\\b");
  std::set<std::string> names;
  for (const SourceFile& file : AllFiles()) names.insert(NameOf(file.path));
  for (const SourceFile& file : AllFiles()) {
    const bool prose = absl::EndsWith(file.path, ".md") || absl::EndsWith(file.path, ".yaml") || IsCpp(file);
    if (!prose || absl::StartsWith(file.path, "tests/") || absl::StrContains(file.path, "/testdata/")) continue;
    int number = 0;
    for (absl::string_view line : absl::StrSplit(file.text, '\n')) {
      ++number;
      const std::size_t comment = IsCpp(file) ? line.find("//") : 0;
      if (comment == absl::string_view::npos || IsForeign(line)) continue;
      line.remove_prefix(comment);
      re2::StringPiece rest(line.data(), line.size());
      std::string path;
      while (re2::RE2::FindAndConsume(&rest, kFile, &path)) {
        const bool there = absl::StrContains(path, '/') ? !TextOf(path).empty() : names.contains(path);
        EXPECT_TRUE(there) << file.path << ":" << number << " names " << path << ", which is not there";
      }
    }
  }
}

// What is known in one place cannot part. The pattern is what nobody can do without who builds a second one; `second` is
// how such a one would look, so that the pattern is known to see it.
struct Home {
  const char* what;
  const char* pattern;
  const char* second;
  std::set<std::string> files;
};

std::vector<Home> Homes() {
  return {
      {"errno as a status or text",
       R"(\bstrerror(_r)?\(|case ENOENT|ErrnoToStatus|(generic|system)_category\()",
       "return Unreachable(std::generic_category().message(errno));",
       {"common/errno_status.cc", "formats/weights/keras_h5.cc"}},
      {"CRC",
       R"(isa-l/crc\.h|(?i:0xEDB88320|0x82F63B78|0x04C11DB7|0x1EDC6F41)|_mm_crc32|\bcrc32(_z|_combine)?\()",
       "crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;",
       {"common/crc.cc"}},
      {"the masked CRC of TFRecord", "(?i)0xA282EAD8", "return (crc >> 15 | crc << 17) + 0xa282ead8;", {"common/crc.cc"}},
      {"the ZIP directory",
       R"((?i)PK\\x?0*1\\x?0*2|PK\\x?0*6\\x?0*[67]|0x0?2014b50|0x0?6064b50|\bzip_open|\bunzOpen)",
       R"(if (absl::StartsWith(bytes, "PK\001\002")) return Entry(bytes);)",
       {"formats/archives/zip.cc"}},
      {"headers of tar",
       R"(ChecksumFits|\(345, 155\)|\+ 345\b)",
       "std::string prefix(block + 345, 155);",
       {"formats/archives/tar.cc"}},
      {"inflating",
       R"(\binflateInit|\binflate\(|\buncompress2?\(|\bgz(open|read)\()",
       "if (uncompress(out, &size, in, length) != Z_OK) return Damaged();",
       {"formats/archives/inflate.cc"}},
      {"little-endian numbers",
       R"(value << 8 \| static_cast<unsigned char>\(.*\bi - 1\]|\ble(16|32|64)toh\()",
       "value = value << 8 | static_cast<unsigned char>(text[at + i - 1]);",
       {"common/little_endian.h"}},
      {"writing all", R"(\bWriteAll\(int \w+, [^)]*\) \{)", "bool WriteAll(int fd, Span bytes) {", {"common/write_all.cc"}},
      {"numeric addresses",
       R"(inet_pton\(AF_INET6)",
       "return inet_pton(AF_INET6, host, &six) == 1;",
       {"common/host_port.cc", "server/transport/webhook.cc"}},
  };
}

// Files of ours that may not know what has its home elsewhere.
bool IsProductCode(const SourceFile& file) {
  const bool code = IsCpp(file) || absl::EndsWith(file.path, ".c");
  return code && !IsTest(file) && !absl::EndsWith(file.path, "_fixture.h");
}

TEST(House, OnePlaceDefines) {
  for (const Home& home : Homes()) {
    const re2::RE2 pattern(home.pattern);
    ASSERT_TRUE(pattern.ok()) << home.pattern;
    EXPECT_TRUE(re2::RE2::PartialMatch(home.second, pattern)) << home.what << ": a second one would not be seen";
    std::set<std::string> found;
    for (const SourceFile& file : AllFiles()) {
      if (IsProductCode(file) && re2::RE2::PartialMatch(WithoutComments(file.text), pattern)) found.insert(file.path);
    }
    EXPECT_EQ(found, home.files) << home.what << ": use what is there, or move it as a whole";
  }
}

// Whoever asks for RANK by name knows one launcher and not the others: the table is asked.
TEST(House, VariablesOfLaunchersStandInTheirTableAlone) {
  std::set<std::string> variables;
  static const re2::RE2 kAside("(?m)(^|\\s)#.*$|\"[^\"]*\"");
  static const re2::RE2 kVariable("\\b([A-Z][A-Z0-9_]{3,})\\b");
  std::string table = TextOf("rules/data/launchers.yaml");
  re2::RE2::GlobalReplace(&table, kAside, "");
  re2::StringPiece rest(table);
  for (std::string name; re2::RE2::FindAndConsume(&rest, kVariable, &name);) variables.insert(name);
  EXPECT_TRUE(variables.contains("RANK") && variables.contains("PMIX_RANK")) << absl::StrJoin(variables, " ");
  static const re2::RE2 kLiteral("\"([A-Z][A-Z0-9_]{3,})\"");
  for (const SourceFile& file : AllFiles()) {
    if (!IsProductCode(file)) continue;
    const std::string code = WithoutComments(file.text);
    re2::StringPiece text(code);
    for (std::string name; re2::RE2::FindAndConsume(&text, kLiteral, &name);) {
      EXPECT_FALSE(variables.contains(name)) << file.path << " asks for " << name << ": rules/launchers.h";
    }
  }
}

}  // namespace
}  // namespace paritect::tidy
