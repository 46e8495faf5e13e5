// What the sums ask of the C++ library, so that libparitect-observe.so needs none: it is loaded into processes whose
// own C++ library may be older or newer, and on hosts whose C library is older than what Debian's static one needs.
// Hidden: nobody else in the process sees these.
#include <cstddef>
#include <cstdlib>
#include <new>

void* operator new(std::size_t size) {
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace std {
// Of a vector that grows beyond the address space: the sums' vectors have at most 4096 elements.
void __throw_length_error(const char*) {
  abort();
}
}  // namespace std
