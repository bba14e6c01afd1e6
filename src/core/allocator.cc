#include "core/allocator.h"

#include <malloc.h>

#include <cstdlib>
#include <initializer_list>
#include <limits>

namespace ttt {
namespace {

bool set_sizes([[maybe_unused]] int own_mapping_bytes, [[maybe_unused]] int trim_bytes) {
#if defined(__GLIBC__)
  return malloc_can_be_set() && ::mallopt(M_MMAP_THRESHOLD, own_mapping_bytes) == 1 &&
         ::mallopt(M_TRIM_THRESHOLD, trim_bytes) == 1;
#else
  return false;
#endif
}

}  // namespace

bool malloc_can_be_set() {
#if defined(__GLIBC__)
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"})
    if (std::getenv(name)) return false;
  return true;
#else
  return false;
#endif
}

bool keep_freed_memory() { return set_sizes(32 << 20, std::numeric_limits<int>::max()); }

bool return_freed_memory(std::size_t own_mapping_bytes) {
  return set_sizes(static_cast<int>(own_mapping_bytes), static_cast<int>(2 * own_mapping_bytes));
}

}  // namespace ttt
