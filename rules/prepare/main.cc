// prepare-rules OUT.cc ROOT NAME...: reads the YAML files NAME below ROOT and writes them as a C++ source that holds
// them in prepared form. Runs at build only; a file that is no YAML ends the build with its place.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "common/atomic_file.h"
#include "common/document.h"
#include "common/file_system.h"
#include "rules/prepared_document.h"

namespace paritect {
namespace {

constexpr std::uint64_t kFileBytesMax = 4 << 20;
constexpr std::size_t kBytesALine = 100;

// A string literal whose bytes are the same for every compiler and source encoding. Octal: an escape of at most three
// digits, unlike a hexadecimal one, cannot swallow what follows.
std::string Literal(absl::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % kBytesALine == 0) absl::StrAppend(&out, i == 0 ? "" : "\"", "\n    \"");
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool plain = byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\' && byte != '?';
    if (plain) {
      out.push_back(bytes[i]);
    } else {
      out.push_back('\\');
      for (int shift = 6; shift >= 0; shift -= 3) out.push_back(static_cast<char>('0' + ((byte >> shift) & 7)));
    }
  }
  return absl::StrCat(out, "\"");
}

absl::Status Run(absl::Span<char* const> arguments) {
  FileSystem& fs = PosixFileSystem();
  std::string constants;
  std::string table;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::string path = JoinPath(arguments[1], arguments[i]);
    const auto bytes = ReadWholeFile(fs, path, kFileBytesMax);
    if (!bytes.ok()) return bytes.status();
    const auto root = ParseDocument(*bytes);
    if (!root.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ":", root.status().message()));
    const std::string prepared = PrepareDocument(*root);
    const std::string constant = absl::StrCat("kFile", i - 1);
    absl::StrAppend(&constants, "constexpr char ", constant, "[] =", Literal(prepared), ";\n");
    absl::StrAppend(&table, "    {\"", arguments[i], "\", absl::string_view(", constant, ", ", prepared.size(),
                    ")},\n");
  }
  return WriteFileAtomically(
      arguments[0], absl::StrCat("// Written by rules/prepare/main.cc from rules/data.\n",
                                 "#include \"rules/embedded_files.h\"\n\nnamespace paritect {\nnamespace {\n\n",
                                 constants, "\nconstexpr EmbeddedFile kFiles[] = {\n", table,
                                 "};\n\n}  // namespace\n\nabsl::Span<const EmbeddedFile> EmbeddedFiles() { ",
                                 "return kFiles; }\n\n}  // namespace paritect\n"));
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "prepare-rules OUT.cc ROOT NAME...\n";
    return 2;
  }
  const absl::Status status = paritect::Run(absl::MakeSpan(argv + 1, static_cast<std::size_t>(argc - 1)));
  if (status.ok()) return 0;
  std::cerr << "prepare-rules: " << status.message() << "\n";
  return 1;
}
