// paritect-server: answers `version`; the service follows.
#include <cstring>
#include <iostream>

#include "common/version.h"

int main(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "version") == 0 || std::strcmp(argv[1], "--version") == 0)) {
    std::cout << "paritect-server " << paritect::kProgramVersion << "\n";
    return 0;
  }
  std::cerr << "usage: paritect-server version\nother commands are not supported by this version\n";
  return 2;
}
