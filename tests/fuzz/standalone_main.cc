// A small fuzzer for builds without libFuzzer, so that every test run fuzzes every parser for some seconds:
//   NAME_fuzz [--seconds N] [--seed N] [--runs N] CORPUS_FOLDER_OR_FILE...
// Every corpus file is run as it is, then mutations of them: bits, bytes, blocks cut, doubled, moved, spliced with
// another file, numbers and words of the corpus put elsewhere. The order is fixed by the seed; only how far it comes
// depends on the time. A crash, an input that takes longer than kInputSecondsMax or memory above kMemoryBytesMax ends
// the program with the input written to ./crash-NAME; give that file as the argument to see it again.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "common/file_system.h"
#include "common/numbers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace paritect {
namespace {

constexpr unsigned kInputSecondsMax = 20;
constexpr rlim_t kMemoryBytesMax = rlim_t{2} << 30;
constexpr std::size_t kInputBytesMax = 32 << 10;
constexpr std::uint64_t kCorpusFileBytesMax = 1 << 20;

// What the signal handler writes out; set before every input.
const std::string* g_current = nullptr;  // NOLINT
char g_crash_file[256];                  // NOLINT

void WriteCurrentAndDie(int signal_number) {
  constexpr char kMessage[] = "\nfuzzing: an input crashed, hung or took too much memory; it is in ";
  (void)!write(2, kMessage, sizeof(kMessage) - 1);
  (void)!write(2, g_crash_file, std::strlen(g_crash_file));
  (void)!write(2, "\n", 1);
  const int file = open(g_crash_file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0 && g_current != nullptr) (void)!write(file, g_current->data(), g_current->size());
  signal(signal_number, SIG_DFL);
  raise(signal_number == SIGALRM ? SIGABRT : signal_number);
}

// xorshift64*: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435769u + 88172645463325252u) {}
  std::uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717u;
  }
  std::size_t Below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(Next() >> 16) % end; }

 private:
  std::uint64_t state_;
};

// Numbers and characters at which parsers go wrong.
// clang-format off
constexpr absl::string_view kDictionary[] = {
    "0", "-1", "4294967296", "9223372036854775807", "18446744073709551616", "1e999", "nan", "-inf", "0x", "\"", "'",
    "\\", "\\u0000", "\\ud800", "{", "}", "[", "]", "(", ")", ":", ": ", ",", "|", "=", "\n", "\r\n", "\t", "  ",
    "\n- ", "&a ", "*a", "<<: ", "!!", "---\n", "#", "%", "..", "/", "\xEF\xBB\xBF", "\xFF\xFE", "\xC0\x80",
    "\xED\xA0\x80"};
// clang-format on

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  std::string Next() {
    std::string input = Any();
    const std::size_t rounds = 1 + random_.Below(6);
    for (std::size_t i = 0; i < rounds; ++i) MutateOnce(input);
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
    return input;
  }

 private:
  const std::string& Any() { return corpus_[random_.Below(corpus_.size())]; }

  std::string Piece(const std::string& from) {
    const std::size_t begin = random_.Below(from.size() + 1);
    return from.substr(begin, 1 + random_.Below(random_.Below(4) == 0 ? 4096 : 24));
  }

  void MutateOnce(std::string& input) {
    const std::size_t at = random_.Below(input.size() + 1);
    switch (random_.Below(10)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random_.Below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random_.Next());
        break;
      case 2: input.insert(at, 1, static_cast<char>(random_.Next())); break;
      case 3: input.erase(at, 1 + random_.Below(16)); break;
      case 4: input.resize(at); break;
      case 5: input.insert(at, Piece(input)); break;
      case 6: input.insert(at, Piece(Any())); break;
      case 7: input.insert(at, kDictionary[random_.Below(std::size(kDictionary))].data()); break;
      case 8: Splice(input, at); break;
      default: Repeat(input, at); break;
    }
  }

  void Splice(std::string& input, std::size_t at) {
    const std::string& other = Any();
    input.resize(at);
    input += other.substr(random_.Below(other.size() + 1));
  }

  // Nesting and repetition: where recursion and quadratic time show.
  void Repeat(std::string& input, std::size_t at) {
    const std::string piece =
        random_.Below(2) == 0 ? Piece(input) : std::string(kDictionary[random_.Below(std::size(kDictionary))]);
    std::string many;
    const std::size_t times = std::size_t{1} << random_.Below(11);
    for (std::size_t i = 0; i < times && many.size() < kInputBytesMax; ++i) many += piece;
    input.insert(at, many);
  }

  const std::vector<std::string>& corpus_;
  Random random_;
};

void ReadCorpus(const std::string& path, std::vector<std::string>& corpus) {
  FileSystem& fs = PosixFileSystem();
  auto info = fs.Stat(path);
  if (!info.ok()) return;
  if (info->type != FileInfo::Type::kDirectory) {
    auto text = ReadWholeFile(fs, path, kCorpusFileBytesMax);
    if (text.ok()) corpus.push_back(*std::move(text));
    return;
  }
  std::set<std::string> names;  // sorted: the order of the folder must not matter
  (void)fs.List(path, [&](const DirectoryEntry& entry) { names.insert(entry.name); });
  for (const std::string& name : names) ReadCorpus(JoinPath(path, name), corpus);
}

void Run(const std::string& input) {
  g_current = &input;
  alarm(kInputSecondsMax);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

struct Options {
  double seconds = 2;
  std::uint64_t seed = 1;
  std::uint64_t runs_max = UINT64_MAX;
  std::vector<std::string> paths;
};

Options ReadOptions(int argc, char** argv) {
  Options options;
  if (const char* seconds = std::getenv("PARITECT_FUZZ_SECONDS")) options.seconds = ParseDouble(seconds).value_or(2);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const double value = i + 1 < argc ? ParseDouble(argv[i + 1]).value_or(0) : 0;
    if (argument == "--seconds") {
      options.seconds = value;
      ++i;
    } else if (argument == "--seed") {
      options.seed = static_cast<std::uint64_t>(value);
      ++i;
    } else if (argument == "--runs") {
      options.runs_max = static_cast<std::uint64_t>(value);
      ++i;
    } else
      options.paths.push_back(argument);
  }
  return options;
}

void Guard(const char* program) {
  const absl::string_view name = BaseName(program);
  std::snprintf(g_crash_file, sizeof(g_crash_file), "crash-%.*s", static_cast<int>(name.size()), name.data());
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) signal(number, &WriteCurrentAndDie);
#ifndef __SANITIZE_ADDRESS__  // the sanitizer reserves terabytes of addresses
  const rlimit limit = {kMemoryBytesMax, kMemoryBytesMax};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

int Fuzz(int argc, char** argv) {
  const Options options = ReadOptions(argc, argv);
  std::vector<std::string> corpus = {""};
  for (const std::string& path : options.paths) ReadCorpus(path, corpus);
  if (corpus.size() == 1) {
    std::fprintf(stderr, "%s: no corpus\n", argv[0]);
    return 2;
  }
  Guard(argv[0]);
  for (const std::string& input : corpus) Run(input);
  Mutator mutator(corpus, options.seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  std::uint64_t runs = 0;
  for (; runs < options.runs_max && std::chrono::steady_clock::now() < end; ++runs) Run(mutator.Next());
  std::printf("%zu corpus inputs, %llu mutations, nothing found\n", corpus.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  return paritect::Fuzz(argc, argv);
}
