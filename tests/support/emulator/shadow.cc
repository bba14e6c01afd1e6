#include "shadow.h"

#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "emulator.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace emulation {
namespace {

constexpr std::size_t kPage = 4096;
// address space, not memory: no address is reused before it is full
constexpr std::size_t kArena = std::size_t{1} << 36;
constexpr unsigned char kFiller = 0xC5;  // as a float: -6.3e3; no output holds it by chance

enum class Readers : std::uint8_t { kNone, kOne, kThreads, kBlocks };

struct Cell {
  Moment write, read;  // the last ones; launch 0: none
  Readers readers = Readers::kNone;
};

struct Region {
  unsigned char *begin, *end;
  unsigned granule;
  DeviceBytes::Kind kind;
  std::string name;
  std::vector<Cell> cells;

  Cell& cell(const unsigned char* p) {
    if (cells.empty()) cells.resize((static_cast<std::size_t>(end - begin) + granule - 1) / granule);
    return cells[static_cast<std::size_t>(p - begin) / granule];
  }
};

// One memory and one shadow for the whole process. One thread at a time uses it.
struct Memory {
  unsigned char *arena = nullptr, *next = nullptr;
  std::map<const unsigned char*, Region> regions;  // by their end
  Region* last = nullptr;
  std::optional<Region> shared;  // static
  bool check_order = true;

  unsigned char* reserve(std::size_t bytes) {
    if (arena == nullptr) {
      void* p = mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED) throw EmulationError("no addresses for the device's memory");
      arena = next = static_cast<unsigned char*>(p);
    }
    if (next + bytes > arena + kArena) throw EmulationError("the device's memory is used up");
    unsigned char* out = next;
    next += bytes;
    return out;
  }
  Region* find(const unsigned char* p) {
    if (last != nullptr && p >= last->begin && p < last->end) return last;
    const auto at = regions.upper_bound(p);
    if (at == regions.end() || p < at->second.begin) return nullptr;
    return last = &at->second;
  }
};
Memory& memory = *new Memory;  // never destroyed: buffers live until the process ends

// Whether the access `then` is ordered before the running thread's next one.
bool ordered(const Moment& then, const Moment& now) {
  if (then.launch != now.launch) return true;
  if (then.block != now.block) return false;
  if (then.thread == now.thread || then.barriers < now.barriers) return true;
  return then.thread / 32 == now.thread / 32 && then.warp_barriers < now.warp_barriers;
}

[[noreturn]] void report(const Region& region, const unsigned char* p, const std::string& what) {
  fail(what + " at byte " + std::to_string(p - region.begin) + " of " + region.name);
}

void race(const Region& region, const unsigned char* p, const char* does, const char* did, const Moment& then) {
  const bool same = then.block == now().block;
  report(region, p,
      std::string("race: it ") + does + " what " +
          (same ? "thread " + std::to_string(then.thread) : "a thread of another block") + " " + did);
}

// Blocks run one after the other in the same shared memory, which on a device is each block's own: accesses of another
// block are forgotten.
Cell& own_cell(Region& region, const unsigned char* p, const Moment& now) {
  Cell& cell = region.cell(p);
  const auto stale = [&](const Moment& m) { return m.launch != now.launch || m.block != now.block; };
  if (region.kind == DeviceBytes::Kind::kShared && cell.write.launch != 0 && stale(cell.write)) cell.write = {};
  if (region.kind == DeviceBytes::Kind::kShared && cell.readers != Readers::kNone && stale(cell.read))
    cell.readers = Readers::kNone;
  return cell;
}

void check_written(Region& region, const unsigned char* p, const Moment& now) {
  if (region.kind == DeviceBytes::Kind::kInput || region.kind == DeviceBytes::Kind::kInOut) return;
  if (own_cell(region, p, now).write.launch == 0) report(region, p, "it reads what nobody has written");
}

void read(Region& region, const unsigned char* p, const Moment& now) {
  if (region.kind == DeviceBytes::Kind::kInput) return;
  check_written(region, p, now);
  Cell& cell = own_cell(region, p, now);
  if (!ordered(cell.write, now) && !(cell.write.atomic && now.atomic))
    race(region, p, "reads", "has just written", cell.write);
  if (cell.readers == Readers::kNone || cell.read.launch != now.launch) {
    cell.readers = Readers::kOne;
  } else if (cell.read.block != now.block) {
    cell.readers = Readers::kBlocks;
  } else if (cell.readers != Readers::kBlocks && cell.read.barriers < now.barriers) {
    cell.readers = Readers::kOne;
  } else if (cell.readers == Readers::kOne && cell.read.thread != now.thread) {
    cell.readers = Readers::kThreads;
  }
  cell.read = now;
}

void write(Region& region, const unsigned char* p, const Moment& now) {
  if (region.kind == DeviceBytes::Kind::kInput) report(region, p, "it writes to an input,");
  Cell& cell = own_cell(region, p, now);
  if (!ordered(cell.write, now) && !(cell.write.atomic && now.atomic))
    race(region, p, "writes", "has just written", cell.write);
  if (cell.readers != Readers::kNone && cell.read.launch == now.launch && !(cell.read.atomic && now.atomic)) {
    const bool apart = cell.readers == Readers::kBlocks || !ordered(cell.read, now) ||
                       (cell.readers == Readers::kThreads && cell.read.barriers >= now.barriers);
    if (apart) race(region, p, "writes", "has just read", cell.read);
  }
  cell.write = now;
}

// Not called where the address sanitizer checks accesses itself.
[[maybe_unused]] void access(const void* address, std::size_t size, bool writes, bool atomic) {
  if (!in_kernel()) return;
  const auto* p = static_cast<const unsigned char*>(address);
  const bool device = p >= memory.arena && p < memory.next;
  const bool shared = memory.shared && p >= memory.shared->begin && p < memory.shared->end;
  if (!device && !shared) return;  // the thread's stack, its arguments, constants
  Region* region = shared ? &*memory.shared : memory.find(p);
  const char* does = writes ? "writes " : "reads ";
  if (region == nullptr || p + size > region->end) {
    const auto after = memory.regions.upper_bound(p);
    const std::string near = after != memory.regions.begin() ? std::prev(after)->second.name : "nothing";
    fail(std::string("it ") + does + std::to_string(size) + " bytes outside every buffer, behind " +
         (region ? region->name : near));
  }
  count_access();
  if (!memory.check_order) return;
  Moment moment = now();
  moment.atomic = atomic;
  if (atomic) check_written(*region, p, moment);
  for (const unsigned char* at = p; at < p + size; at += region->granule) {
    if (writes) write(*region, at, moment);
    if (atomic || !writes) read(*region, at, moment);
  }
}

}  // namespace

void check_order(bool on) { memory.check_order = on; }

DeviceBytes::DeviceBytes(std::size_t size, Kind kind, unsigned granule, std::string name) : size_(size) {
  const std::size_t rounded = (size + 15) / 16 * 16;
  mapped_ = (rounded + kPage - 1) / kPage * kPage;
  pages_ = memory.reserve(mapped_ + 2 * kPage) + kPage;
  if (mapped_ > 0 && mprotect(pages_, mapped_, PROT_READ | PROT_WRITE) != 0)
    throw EmulationError("no memory for " + name);
  std::memset(pages_, kFiller, mapped_);
  begin_ = pages_ + mapped_ - rounded;
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(pages_, mapped_);
  __asan_unpoison_memory_region(begin_, size);
#endif
  // An empty region has a key of its own.
  memory.regions[begin_ + size] = Region{begin_, begin_ + size, granule, kind, std::move(name), {}};
  memory.last = nullptr;
}

DeviceBytes::~DeviceBytes() {
  memory.regions.erase(begin_ + size_);
  memory.last = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(pages_, mapped_);
#endif
  if (mapped_ == 0) return;
  madvise(pages_, mapped_, MADV_DONTNEED);
  mprotect(pages_, mapped_, PROT_NONE);
}

__attribute__((no_sanitize("address"))) bool DeviceBytes::guards_intact() const {
  for (const unsigned char* p = pages_; p < pages_ + mapped_; ++p)
    if ((p < begin_ || p >= begin_ + size_) && *static_cast<const volatile unsigned char*>(p) != kFiller) return false;
  return true;
}

void DeviceBytes::seal() {
  if (mapped_ > 0) mprotect(pages_, mapped_, PROT_READ);
}

void shadow_static_shared(unsigned char* begin, unsigned char* end) {
  if (!memory.shared && begin != nullptr)
    memory.shared = Region{begin, end, 4, DeviceBytes::Kind::kShared, "static shared memory", {}};
}

void shadow_atomic(const void* address, std::size_t size) {
#if !defined(__SANITIZE_ADDRESS__)
  access(address, size, true, true);
#else
  (void)address, (void)size;
#endif
}

void memset_device(void* p, int value, std::size_t bytes) {
  if (bytes == 0 || recording()) return;
  auto* first = static_cast<unsigned char*>(p);
  Region* region = memory.find(first);
  if (region == nullptr || first + bytes > region->end || region->kind == DeviceBytes::Kind::kInput)
    throw EmulationError("cudaMemsetAsync writes outside every buffer, or to an input");
  std::memset(p, value, bytes);
  Moment before_all;
  before_all.launch = 0xFFFFFFFFu;  // of no launch, but written
  for (unsigned char* at = first; at < first + bytes; at += region->granule)
    region->cell(at) = {before_all, {}, Readers::kNone};
}

}  // namespace emulation

// Calls that -fsanitize=thread inserts before each memory access. The sanitizer's own library is not linked, so these
// are the only definitions.
#if !defined(__SANITIZE_ADDRESS__)
using emulation::access;
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read1(void* p) { access(p, 1, false, false); }
void __tsan_read2(void* p) { access(p, 2, false, false); }
void __tsan_read4(void* p) { access(p, 4, false, false); }
void __tsan_read8(void* p) { access(p, 8, false, false); }
void __tsan_read16(void* p) { access(p, 16, false, false); }
void __tsan_write1(void* p) { access(p, 1, true, false); }
void __tsan_write2(void* p) { access(p, 2, true, false); }
void __tsan_write4(void* p) { access(p, 4, true, false); }
void __tsan_write8(void* p) { access(p, 8, true, false); }
void __tsan_write16(void* p) { access(p, 16, true, false); }
void __tsan_read_range(void* p, std::size_t n) { access(p, n, false, false); }
void __tsan_write_range(void* p, std::size_t n) { access(p, n, true, false); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
#endif
