#include "emulator.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/rng.h"
#include "cuda_runtime.h"
#include "shadow.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// The linker's symbols for the ends of the section of static shared memory; absent where no kernel has any.
extern "C" {
extern unsigned char __start_ttt_shared[] __attribute__((weak));
extern unsigned char __stop_ttt_shared[] __attribute__((weak));
}

namespace emulation {
namespace {

constexpr std::size_t kStack = 256 * 1024;

// Fibers are switched by the compiler's own jump. swapcontext saves the signal mask by a system call. For it and for
// longjmp the address sanitizer marks a whole stack as free, which took nine tenths of a test's time. Each switch is
// announced to the sanitizer instead.
using Jump = void* [5];
#if defined(__SANITIZE_ADDRESS__)
#define TTT_JUMPS __attribute__((noinline, no_sanitize("address")))  // the sanitizer would treat a jump as longjmp
#else
#define TTT_JUMPS __attribute__((noinline))
#endif
TTT_JUMPS [[noreturn]] void jump_to(Jump& to) { __builtin_longjmp(to, 1); }

enum class State { kReady, kBarrier, kExchange, kExited };

struct Thread {
  ucontext_t context;
  Jump jump;
  unsigned char* stack = nullptr;
  bool entered = false;
  State state = State::kReady;
  uint3 index;
  Moment moment;
  std::int64_t accesses = 0;
  std::source_location where;
  unsigned mask = 0;
  bool warp_barrier = false;
  std::uint64_t value = 0;
  Lanes lanes;
};

// The only emulated machine. It is global because threadIdx and its like are globals of the language.
struct Machine {
  std::vector<std::unique_ptr<Thread>> threads;
  std::size_t size = 0;  // threads of the running block
  Thread* current = nullptr;
  Jump jump;
  const void* main_stack = nullptr;
  std::size_t main_stack_size = 0;
  const std::function<void()>* body = nullptr;
  std::int64_t most_accesses = 0;
  std::string error;
  Schedule schedule;
  ttt::Stream random{0};
  std::uint32_t launches = 0;
  std::unique_ptr<DeviceBytes> dynamic;
  std::vector<Launch>* record = nullptr;
  std::function<void(Again)> sink;
};
Machine machine;

TTT_JUMPS void to_machine(Thread& t) {
  if (__builtin_setjmp(t.jump) == 0) jump_to(machine.jump);
}

TTT_JUMPS void to_fiber(Thread& t, bool first) {
  if (__builtin_setjmp(machine.jump) != 0) return;
  if (first) setcontext(&t.context);
  jump_to(t.jump);
}

void leave_fiber() {
  Thread& t = *machine.current;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, machine.main_stack, machine.main_stack_size);
  to_machine(t);
  __sanitizer_finish_switch_fiber(fake, &machine.main_stack, &machine.main_stack_size);
#else
  to_machine(t);
#endif
}

void fiber_main() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &machine.main_stack, &machine.main_stack_size);
#endif
  for (;;) {
    (*machine.body)();
    machine.current->state = State::kExited;
    leave_fiber();
  }
}

void prepare_stack(Thread& t) {
  if (t.stack == nullptr) {
    void* p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw EmulationError("no memory for a thread's stack");
    mprotect(p, 4096, PROT_NONE);
    t.stack = static_cast<unsigned char*>(p);
  }
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(t.stack, kStack);
#endif
  getcontext(&t.context);
  t.context.uc_stack.ss_sp = t.stack + 4096;
  t.context.uc_stack.ss_size = kStack - 4096;
  t.context.uc_link = nullptr;
  makecontext(&t.context, fiber_main, 0);
}

void resume(Thread& t) {
  machine.current = &t;
  threadIdx = t.index;
  const bool first = !t.entered;
  t.entered = true;
  if (first) prepare_stack(t);
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, t.stack + 4096, kStack - 4096);
  to_fiber(t, first);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  to_fiber(t, first);
#endif
  machine.current = nullptr;
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  if (a.line() != b.line() || a.column() != b.column()) return false;
  // usually the same literal
  return a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name();
}

std::string place(const std::source_location& at) {
  const std::string_view file = at.file_name();
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(at.line());
}

std::string describe(const Thread& t) {
  std::ostringstream text;
  text << "thread " << t.moment.thread;
  if (t.state == State::kExited) text << " has ended";
  if (t.state == State::kBarrier) text << " waits at the barrier " << place(t.where);
  if (t.state == State::kExchange)
    text << " waits at " << place(t.where) << " for the lanes of mask " << std::hex << t.mask;
  return text.str();
}

// Deadlock: names the first waiting thread, and the first that waits elsewhere.
std::string stuck() {
  const Thread& a = *machine.threads[0];
  std::string text = "the threads of a block have parted: " + describe(a);
  for (std::size_t i = 1; i < machine.size; ++i) {
    const Thread& b = *machine.threads[i];
    if (b.state == a.state && (a.state == State::kExited || (same_place(a.where, b.where) && a.mask == b.mask)))
      continue;
    return text + "; " + describe(b);
  }
  return text;
}

bool release_barrier() {
  const Thread& first = *machine.threads[0];
  for (std::size_t i = 0; i < machine.size; ++i) {
    const Thread& t = *machine.threads[i];
    if (t.state != State::kBarrier || !same_place(t.where, first.where)) return false;
  }
  for (std::size_t i = 0; i < machine.size; ++i) {
    machine.threads[i]->state = State::kReady;
    ++machine.threads[i]->moment.barriers;
  }
  return true;
}

// Resumes the lanes of t's mask where all of them wait at the same place.
bool release_exchange(std::size_t warp, const Thread& t) {
  Lanes values{};
  for (unsigned i = 0; i < 32; ++i) {
    if (!(t.mask >> i & 1)) continue;
    if (warp + i >= machine.size) return false;
    const Thread& other = *machine.threads[warp + i];
    if (other.state != State::kExchange || other.mask != t.mask || !same_place(other.where, t.where)) return false;
    values[i] = other.value;
  }
  const unsigned mask = t.mask;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    Thread& other = *machine.threads[warp + i];
    other.lanes = values;
    other.state = State::kReady;
    other.moment.warp_barriers += other.warp_barrier;
  }
  return true;
}

bool release() {
  bool some = release_barrier();
  for (std::size_t i = 0; i < machine.size; ++i)
    if (machine.threads[i]->state == State::kExchange) some |= release_exchange(i / 32 * 32, *machine.threads[i]);
  return some;
}

template <class T> void arrange(std::vector<T>& order) {
  std::iota(order.begin(), order.end(), T{0});
  if (machine.schedule.order == Schedule::Order::kDescending) std::reverse(order.begin(), order.end());
  if (machine.schedule.order == Schedule::Order::kRandom)
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[machine.random.below(i)]);
}

void run_threads() {
  std::vector<std::uint32_t> order(machine.size);
  for (;;) {
    arrange(order);
    bool all_exited = true, some = false;
    for (const std::uint32_t i : order) {
      Thread& t = *machine.threads[i];
      if (t.state == State::kReady) {
        some = true;
        resume(t);
        if (!machine.error.empty()) return;
      }
      all_exited &= t.state == State::kExited;
    }
    if (all_exited) return;
    if (!release() && !some) {
      machine.error = stuck();
      return;
    }
  }
}

// Not memset: it would be checked against the red zones that the address sanitizer keeps between the variables.
__attribute__((no_sanitize("address"))) void poison(unsigned char* begin, unsigned char* end) {
  volatile unsigned char* p = begin;
  const auto aligned = [&] { return reinterpret_cast<std::uintptr_t>(p) % sizeof(std::uint64_t) == 0; };
  while (p < end && !aligned()) *p++ = machine.schedule.poison;
  const std::uint64_t eight = machine.schedule.poison * 0x0101010101010101u;
  for (; end - p >= std::ptrdiff_t{sizeof(eight)}; p += sizeof(eight))
    *reinterpret_cast<volatile std::uint64_t*>(p) = eight;
  while (p < end) *p++ = machine.schedule.poison;
}

void run_block(const Launch& launch, std::uint32_t block) {
  blockIdx = {block % launch.grid.x, block / launch.grid.x % launch.grid.y, block / launch.grid.x / launch.grid.y};
  if (__start_ttt_shared != nullptr) poison(__start_ttt_shared, __stop_ttt_shared);
  if (machine.dynamic) poison(machine.dynamic->data(), machine.dynamic->data() + launch.shared);
  for (std::size_t i = 0; i < machine.size; ++i) {
    Thread& t = *machine.threads[i];
    const auto n = static_cast<unsigned>(i);
    t.state = State::kReady;
    t.index = {n % launch.block.x, n / launch.block.x % launch.block.y, n / launch.block.x / launch.block.y};
    t.moment = {machine.launches, block, 0, 0, static_cast<std::uint16_t>(i), false};
    t.accesses = 0;
  }
  run_threads();
  if (machine.error.empty()) return;
  // Waiting threads never resume: their stacks are reused from the start.
  for (std::size_t i = 0; i < machine.size; ++i) machine.threads[i]->entered = false;
  const std::string where = "block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
                            std::to_string(blockIdx.z) + ")";
  throw EmulationError("In " + where + ": " + std::exchange(machine.error, {}));
}

}  // namespace

const std::array<Schedule, 4>& schedules() {
  using Order = Schedule::Order;
  static const std::array<Schedule, 4> all{{{Order::kAscending, 0, 0xCD}, {Order::kDescending, 0, 0xFF},
      {Order::kRandom, 1, 0x00}, {Order::kRandom, 2, 0x3F}}};
  return all;
}

void set_schedule(const Schedule& schedule) {
  machine.schedule = schedule;
  machine.random = ttt::Stream(ttt::random_bits(schedule.seed, ttt::Purpose::kTest, 0));
}

void record_launches(std::vector<Launch>* into) { machine.record = into; }
bool recording() { return machine.record != nullptr; }

void set_sink(std::function<void(Again)> sink) { machine.sink = std::move(sink); }
const std::function<void(Again)>& sink() { return machine.sink; }

void run(const Launch& launch, const std::function<void()>& body) {
  if (machine.record != nullptr) {
    machine.record->push_back(launch);
    return;
  }
  machine.size = static_cast<std::size_t>(launch.block.volume());
  while (machine.threads.size() < machine.size) machine.threads.push_back(std::make_unique<Thread>());
  ++machine.launches;
  machine.body = &body;
  machine.dynamic = launch.shared > 0 ? std::make_unique<DeviceBytes>(
                                            launch.shared, DeviceBytes::Kind::kShared, 4, "dynamic shared memory")
                                      : nullptr;
  blockDim = dim3(launch.block.x, launch.block.y, launch.block.z);
  gridDim = dim3(launch.grid.x, launch.grid.y, launch.grid.z);
  shadow_static_shared(__start_ttt_shared, __stop_ttt_shared);
  std::vector<std::uint32_t> order(static_cast<std::size_t>(launch.grid.volume()));
  arrange(order);
  for (const std::uint32_t block : order) run_block(launch, block);
}

void barrier(const std::source_location& where) {
  Thread& t = *machine.current;
  t.where = where;
  t.mask = 0;
  t.state = State::kBarrier;
  leave_fiber();
}

unsigned lane() { return machine.current->moment.thread % 32u; }

namespace {
const Lanes& meet(unsigned mask, std::uint64_t value, bool warp_barrier, const std::source_location& where) {
  Thread& t = *machine.current;
  if (!(mask >> lane() & 1))
    fail("lane " + std::to_string(lane()) + " calls " + place(where) + " with a mask that leaves it out");
  t.where = where;
  t.mask = mask;
  t.value = value;
  t.warp_barrier = warp_barrier;
  t.state = State::kExchange;
  leave_fiber();
  return t.lanes;
}
}  // namespace

const Lanes& exchange(unsigned mask, std::uint64_t value, const std::source_location& where) {
  return meet(mask, value, false, where);
}
void warp_barrier(unsigned mask, const std::source_location& where) { meet(mask, 0, true, where); }

void note_atomic(const void* address, std::size_t size) {
  // On a device another thread may run first at any time.
  if (machine.schedule.order == Schedule::Order::kRandom && machine.random.below(8) == 0) leave_fiber();
  shadow_atomic(address, size);
}

void fail(const std::string& what) {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_ignore_object(what.data());  // its owner is on an abandoned stack
#endif
  machine.error = "thread " + std::to_string(machine.current->moment.thread) + ": " + what;
  machine.current->state = State::kExited;
  leave_fiber();
  __builtin_unreachable();  // run_threads abandons the block
}

void* dynamic_shared() { return machine.dynamic ? machine.dynamic->data() : nullptr; }
bool in_kernel() { return machine.current != nullptr; }
Moment now() { return machine.current->moment; }
void count_access() { machine.most_accesses = std::max(machine.most_accesses, ++machine.current->accesses); }
std::int64_t take_most_accesses() { return std::exchange(machine.most_accesses, 0); }

}  // namespace emulation
