// How long it takes to read a source tree of training scripts, beside Python's own parser over the same files:
//   script_bench DIR            (default: tests/scripts of this checkout, many times over)
//   python3 -c 'import ast,sys,pathlib,time; ...'  is run by this program where Python is there.
// Prints files, megabytes, seconds of both and their ratio.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "agent/collectors/script_files.h"
#include "common/file_system.h"
#include "formats/python/script_reader.h"
#include "formats/python/syntax.h"
#include "rules/rules.h"

namespace {

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const std::string folder = argc > 1 ? argv[1] : PARITECT_BENCH_DIR "/../tests/scripts";
  std::vector<ScriptSourceFile> files;
  std::string entry;
  if (!AddScriptFiles(PosixFileSystem(), folder, "", files, entry).ok() || !HoldScripts(files)) {
    std::fprintf(stderr, "script_bench: no Python file below %s\n", folder.c_str());
    return 2;
  }
  const std::size_t repeat = files.size() < 1000 ? 1000 / files.size() + 1 : 1;
  std::size_t bytes = 0;
  auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < repeat; ++i) {
    for (const ScriptSourceFile& file : files) {
      bytes += file.text.size();
      (void)ParsePython(file.text).size();
    }
  }
  const double parsing = Seconds(begin);
  const Rules& rules = BuiltInRules();
  begin = std::chrono::steady_clock::now();
  (void)ReadScripts(files, {}, rules.scripts);
  const double reading = Seconds(begin);
  std::printf("%zu files, %.1f MB: parsed in %.2f s (%.1f MB/s); facts of the tree once in %.2f s\n",
              files.size() * repeat, static_cast<double>(bytes) / 1e6, parsing,
              static_cast<double>(bytes) / 1e6 / parsing, reading);
  std::fflush(stdout);
  const std::string python =
      "python3 -c \"import ast,pathlib,time\nt=[p.read_bytes() for p in pathlib.Path('" + folder +
      "').rglob('*.py')]\nb=time.perf_counter()\nfor i in range(" + std::to_string(repeat) +
      "):\n  for x in t:\n    try: ast.parse(x)\n    except Exception: pass\nprint('Python ast: %.2f s' % "
      "(time.perf_counter()-b))\"";
  return std::system(python.c_str()) == 0 ? 0 : 1;
}
