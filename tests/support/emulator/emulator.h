// An emulator that executes CUDA kernels on the CPU, for tests. A kernel's own source is compiled as C++ against
// cuda_runtime.h of this folder; every thread of a block is a fiber. Blocks run one after the other, threads one at a
// time until they wait.
//
// Detected mistakes, each an EmulationError that ends the launch (planted_test.cc plants every one):
//   - a barrier that part of the block never reaches, or that its threads reach at different places;
//   - a vote or shuffle whose mask names absent lanes, or leaves out the caller or the lane it reads;
//   - accesses outside a DeviceBuffer, writes to an input, reads of unwritten memory; a misaligned vector ends the
//     program;
//   - races: two threads at one address, one of them writing, with neither a barrier nor an atomic between them.
// The last two need every access: emulated sources are compiled with -fsanitize=thread, and shadow.cc defines the calls
// that it inserts. In builds with the address sanitizer, that sanitizer and guard pages check accesses instead.
//
// A launch under several schedules() shows whether results depend on the order of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace emulation {

struct EmulationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  std::int64_t volume() const { return std::int64_t{x} * y * z; }
};

struct Launch {
  Extent grid, block;
  std::size_t shared = 0;  // dynamic [byte]
};

// Order of blocks and threads, and the initial contents of shared memory.
struct Schedule {
  enum class Order { kAscending, kDescending, kRandom } order = Order::kAscending;
  std::uint64_t seed = 0;
  unsigned char poison = 0xCD;
};
// Ascending, descending and two random ones, each with a poison of its own; 0xFF makes floats NaN.
const std::array<Schedule, 4>& schedules();
void set_schedule(const Schedule& schedule);

// Whether the order of accesses is checked (races, reads of unwritten memory), as it is until this says otherwise. That
// takes most of a kernel's time: tests of many whole steps do without. Bounds are always checked.
void check_order(bool on);

// The most accesses of memory that one thread made within a launch, since the last call. One after the other they are
// what a kernel waits for at least. Not counted where the address sanitizer checks accesses: 0.
std::int64_t take_most_accesses();

// While `into` is set, launches are recorded there and not executed; null: they are executed.
void record_launches(std::vector<Launch>* into);
bool recording();

// While `sink` is set, it receives every launch and memset after its execution, as a function that executes it again.
using Again = std::function<void()>;
void set_sink(std::function<void(Again)> sink);
const std::function<void(Again)>& sink();

// Runs body once for each thread of each block. Throws EmulationError; memory keeps the writes made before.
void run(const Launch& launch, const std::function<void()>& body);

// Functions behind the emulated language (cuda_runtime.h); only for kernels.
using Lanes = std::array<std::uint64_t, 32>;
void barrier(const std::source_location& where);
// the values of all lanes of the mask
const Lanes& exchange(unsigned mask, std::uint64_t value, const std::source_location& where);
void warp_barrier(unsigned mask, const std::source_location& where);
void note_atomic(const void* address, std::size_t size);  // before an atomic operation; may let other threads run first
[[noreturn]] void fail(const std::string& what);          // ends the launch
void* dynamic_shared();
unsigned lane();

// The running thread, as the shadow of memory records it. `barriers`, `warp_barriers`: those that the thread has
// passed.
struct Moment {
  std::uint32_t launch = 0, block = 0, barriers = 0, warp_barriers = 0;
  std::uint16_t thread = 0;
  bool atomic = false;
};
bool in_kernel();
Moment now();
void count_access();  // by the running thread

}  // namespace emulation
