// Control of malloc's handling of freed memory.
#pragma once

#include <cstddef>

namespace ttt {

// A training step allocates and frees the same tensors again and again. glibc returns the end of its heap, and every
// block above an adaptive threshold, to the system. The next step pays with a page fault for each 4 KiB. These
// functions set both thresholds for the whole process (mallopt(3)), which disables their adaptation. Nothing happens
// with another libc, or where the user has set MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES.

bool malloc_can_be_set();  // whether they do anything
// The heap keeps what is freed, and takes blocks up to 32 MiB, the most that glibc allows. Returns whether that is so
// now.
bool keep_freed_memory();
// Blocks of `own_mapping_bytes` and more have a mapping of their own, and the heap's end is given back beyond twice
// that. The rule by which glibc learns, with the size of the largest block that was freed.
bool return_freed_memory(std::size_t own_mapping_bytes);

}  // namespace ttt
