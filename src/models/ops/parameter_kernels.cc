#include "models/ops/parameter_kernels.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "kernels/nonfinite/nonfinite.h"

namespace ttt::model {

ParameterKernels or_host(ParameterKernels kernels) {
  if (kernels.sgd) return kernels;
  return {.sgd = static_cast<void (*)(const kernels::SgdRule&, const kernels::SgdTensor*, std::int64_t, std::int64_t,
              const kernels::SgdControl&)>(kernels::host::sgd),
      .adam = kernels::host::adam,
      .find_nonfinite = kernels::host::find_nonfinite,
      .squared_norms =
          [](const kernels::NormGroups& groups, const float* gradient, const float* before, const float* after,
              kernels::SquaredNorms*,
              kernels::SquaredNorms* out) { kernels::host::squared_norms(groups, gradient, before, after, out); },
      .round_bfloat16 = kernels::host::round_bfloat16};
}

at::Tensor bytes_on(const at::Device& device, std::span<const std::byte> bytes) {
  const at::Tensor host = at::empty({std::ssize(bytes)}, at::kByte);
  std::memcpy(host.mutable_data_ptr(), bytes.data(), bytes.size());
  return host.to(device);
}

}  // namespace ttt::model
