// A step in lower precision is on the fake device what it is on CUDA. The lists of operators that compute in it, and of
// those that must not, are torch's own.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {
namespace {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define TTT_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define TTT_FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define TTT_FLOAT_RESULT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define TTT_WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(TTT_LOWER)
  AT_FORALL_FP32(TTT_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(TTT_FLOAT_RESULT)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(TTT_WIDEST)
}

}  // namespace
}  // namespace at::autocast
