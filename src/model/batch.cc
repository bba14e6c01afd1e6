#include "model/batch.h"

#include <ATen/ops/empty.h>

namespace ttt::model {

at::Tensor draw_key(std::int64_t seed, std::int64_t step) {
  at::Tensor key = at::empty({2}, at::kLong);
  auto* values = key.mutable_data_ptr<std::int64_t>();
  values[0] = seed, values[1] = step;
  return key;
}

}  // namespace ttt::model
