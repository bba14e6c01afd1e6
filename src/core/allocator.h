// What malloc does with memory that is given back.
#pragma once

#include <cstddef>

namespace ttt {

// A training step allocates and frees the same tensors again and again. glibc gives the end of its heap, and every block above a size that it
// learns, back to the system, and the next step pays with a page fault for each 4 KiB. These set the two sizes for the whole process
// (mallopt(3)); glibc then stops to learn. Nothing happens with another libc, or where the user has set MALLOC_TRIM_THRESHOLD_,
// MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES.

bool malloc_can_be_set();  // whether they do anything
// The heap keeps what is freed, and takes blocks up to 32 MiB, the most that glibc allows. Returns whether that is so now.
bool keep_freed_memory();
// Blocks of `own_mapping_bytes` and more have a mapping of their own, and the heap's end is given back beyond twice that: the rule by which glibc
// learns, with the size of the largest block that was freed.
bool return_freed_memory(std::size_t own_mapping_bytes);

}  // namespace ttt
