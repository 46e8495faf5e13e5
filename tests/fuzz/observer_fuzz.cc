// Records of the observer: what a stranger's process may have written into them.
#include "formats/observer/observed_run.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)LooksObserved(bytes);
  const auto file = ReadObservedFile(bytes, "observe/host-1-2.jsonl");
  if (!file.ok()) return 0;
  FuzzCheck(file->counts.records > 0 && !file->processes.empty(), "a file that is read holds records of a process");
  FuzzCheck(!file->counts.cut || bytes.back() != '\n', "only a line without its end is cut");
  const auto evidence = AssembleObserved({*file});
  for (const v1::Evidence& one : evidence) {
    FuzzCheck(one.outcome() == v1::OUTCOME_COLLECTED && one.source() == "observe/host-1-2.jsonl",
              "what was read is evidence of its file");
    FuzzCheck(!one.has_rank() || one.rank() >= 0, "ranks begin at 0");
    for (const v1::TensorFingerprint& tensor : one.weights().tensors()) {
      FuzzCheck(tensor.xxh3().empty() || tensor.xxh3().size() == 32, "a digest has 128 bits");
    }
  }
  FuzzCheck(AssembleObserved({*file}).size() == evidence.size(), "the same answer twice");
  (void)Summarise(*file);
  return 0;
}
