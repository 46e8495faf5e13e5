// HDF5 by its helper program, which runs on every input: what it says of any bytes is understood, and its end is an
// answer. Slow beside the other targets, for each input is a process or two.
#include <unistd.h>

#include "common/file_system.h"
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;
  static const std::string path = absl::StrCat("/tmp/keras_h5_fuzz.", getpid(), ".h5");
  static const bool linked = [] {
    const auto self = PosixFileSystem().ReadLink("/proc/self/exe");
    return self.ok() &&
           symlink(PARITECT_BINARY_DIR "/paritect-hdf5", absl::StrCat(DirName(*self), "/paritect-hdf5").c_str()) == 0;
  }();
  (void)linked;  // there from an earlier run
  FuzzCheck(WriteFileAtomically(path, FuzzInput(data, size)).ok(), "a temporary file can be written");
  FuzzPath("keras-h5", PosixFileSystem(), path);
  unlink(path.c_str());
  return 0;
}
