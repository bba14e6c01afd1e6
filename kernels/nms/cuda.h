// Greedy NMS of many lists at once, without the host: a matrix of bits, then one warp per list that reads it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ttt::kernels::cuda {

inline constexpr int kMostBoxes = 4096;  // in a list: a lane of the scanning warp holds two words of 64

// Lists of boxes in descending order of score. `capacity` boxes apart; list l has count[l] of them.
struct NmsLists {
  std::int64_t lists;
  int capacity;
  const std::int32_t* count;  // [lists]
  const float* boxes;         // [lists, capacity, 4]
};

// Of which words[l, i, w] bit b: box i of list l suppresses box 64 w + b, for boxes behind i; other bits and words are not set.
inline std::int64_t nms_words(const NmsLists& in) { return in.lists * in.capacity * ((in.capacity + 63) / 64); }

// keep: [lists, capacity] indices into the list, ascending; kept: [lists], how many, at most `most`.
void nms_of_lists(const NmsLists& in, float threshold, bool legacy, std::int64_t most, std::uint64_t* words, std::int32_t* keep, std::int32_t* kept,
                  cudaStream_t stream);

}  // namespace ttt::kernels::cuda
