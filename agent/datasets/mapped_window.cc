#include "agent/datasets/mapped_window.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr int kSlots = 4096;

// What the handler may look at: nothing but these.
struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;  // 0: empty
  std::atomic<bool> damaged = false;
};
Slot g_slots[kSlots];
std::atomic<int> g_slots_used = 0;  // slots from here on were never taken
std::uintptr_t g_page_bytes = 4096;
struct sigaction g_before;

void PassOn(int signal, siginfo_t* info, void* context) {
  if ((g_before.sa_flags & SA_SIGINFO) != 0 && g_before.sa_sigaction != nullptr) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal);
  } else {
    // The instruction is tried again and kills the program as it would have without us.
    sigaction(SIGBUS, &g_before, nullptr);
  }
}

// Runs on the thread that touched the page. mmap is no library function that could hold a lock here.
void OnBusError(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const int used = g_slots_used.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    Slot& slot = g_slots[i];
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (end == 0 || address < slot.begin.load(std::memory_order_acquire) || address >= end) continue;
    const std::uintptr_t page = address & ~(g_page_bytes - 1);
    const std::uintptr_t page_end = (end + g_page_bytes - 1) & ~(g_page_bytes - 1);
    void* zeros = mmap(reinterpret_cast<void*>(page), page_end - page, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) break;
    slot.damaged.store(true, std::memory_order_release);
    errno = saved;
    return;
  }
  PassOn(signal, info, context);
  errno = saved;
}

void InstallHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    g_page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action;
    std::memset(&action, 0, sizeof(action));
    action.sa_sigaction = &OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &g_before);
  });
}

int TakeSlot() {
  for (int i = 0; i < kSlots; ++i) {
    bool free = false;
    if (!g_slots[i].taken.compare_exchange_strong(free, true)) continue;
    int used = g_slots_used.load();
    while (used < i + 1 && !g_slots_used.compare_exchange_weak(used, i + 1)) {
    }
    return i;
  }
  return -1;
}

}  // namespace

absl::Status MappedWindow::Map(int fd, std::uint64_t offset, std::size_t bytes, bool whole) {
  Unmap();
  InstallHandler();
  if (slot_ < 0) slot_ = TakeSlot();
  if (slot_ < 0) return absl::ResourceExhaustedError("too many windows");
  const int flags = MAP_SHARED | (whole ? MAP_POPULATE : 0);
  void* data = mmap(nullptr, bytes, PROT_READ, flags, fd, static_cast<off_t>(offset));
  if (data == MAP_FAILED) {
    const int error = errno;
    Unmap();
    return absl::ResourceExhaustedError(absl::StrCat("mmap: errno ", error));
  }
  data_ = static_cast<const unsigned char*>(data);
  size_ = bytes;
  Slot& slot = g_slots[slot_];
  slot.damaged.store(false);
  slot.begin.store(reinterpret_cast<std::uintptr_t>(data));
  slot.end.store(reinterpret_cast<std::uintptr_t>(data) + bytes, std::memory_order_release);
  return absl::OkStatus();
}

void MappedWindow::Unmap() {
  if (slot_ >= 0) {
    g_slots[slot_].end.store(0, std::memory_order_release);
    g_slots[slot_].taken.store(false);
    slot_ = -1;
  }
  if (data_ != nullptr) munmap(const_cast<unsigned char*>(data_), size_);
  data_ = nullptr;
  size_ = 0;
}

bool MappedWindow::damaged() const {
  return slot_ >= 0 && g_slots[slot_].damaged.load(std::memory_order_acquire);
}

}  // namespace paritect
