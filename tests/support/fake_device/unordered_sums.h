// Detection of floating-point sums in unspecified order, for the fake device.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/from_blob.h>

namespace ttt::test {

// The same memory as a tensor of the CPU.
inline at::Tensor on_cpu(const at::Tensor& t) {
  if (!t.defined() || t.is_cpu()) return t;
  return at::from_blob(t.mutable_data_ptr(), t.sizes(), t.strides(), t.options().device(at::kCPU).requires_grad(false));
}

// Counts the operation where it takes a sum of floats in any order (unordered_sums() of fake_device.h).
void note_sums(const c10::OperatorHandle& op, const torch::jit::Stack& arguments);

}  // namespace ttt::test
