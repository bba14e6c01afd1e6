#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "kernels/common/relu.h"
#include "kernels/max_pool/max_pool.h"
#include "kernels/max_pool/window.h"

namespace ttt::kernels::host {

// Neighbouring channels are independent, which compilers make vectors of.
template <class T>
void offset_relu_pool(const MaxPoolParams& p, const T* x, const float* offset, T* y, ThreadPool* pool) {
  const std::int64_t rows = pooled_size(p.height), columns = pooled_size(p.width), c = p.channels;
  parallel_for(pool, p.images * rows, [&](std::int64_t row) {
    const std::int64_t image = row / rows;
    const auto [top, bottom] = window_of(row % rows, p.height);
    std::vector<float> most(static_cast<std::size_t>(c));
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto [left, right] = window_of(column, p.width);
      for (std::int64_t v = top; v < bottom; ++v)
        for (std::int64_t u = left; u < right; ++u) {
          const T* from = x + ((image * p.height + v) * p.width + u) * c;
          if (v == top && u == left)
            for (std::int64_t k = 0; k < c; ++k) most[k] = widen(from[k]);
          else
            for (std::int64_t k = 0; k < c; ++k) most[k] = larger(most[k], widen(from[k]));
        }
      T* to = y + (row * columns + column) * c;
      for (std::int64_t k = 0; k < c; ++k) to[k] = narrow<T>(relu(most[k] + offset[k]));
    }
  });
}

template void offset_relu_pool(const MaxPoolParams&, const float*, const float*, float*, ThreadPool*);
template void offset_relu_pool(const MaxPoolParams&, const Bfloat16*, const float*, Bfloat16*, ThreadPool*);
template void offset_relu_pool(const MaxPoolParams&, const Float16*, const float*, Float16*, ThreadPool*);

}  // namespace ttt::kernels::host
