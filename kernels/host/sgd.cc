#include "core/error.h"
#include "kernels/host/detection.h"
#include "kernels/host/sgd_loops.h"

namespace ttt::kernels::host {

void sgd(const SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight) {
  if (n < 0) throw UsageError("SGD over a negative number of weights. Correct the range.");
  sgd_loop(best_isa())(p, n, grad, momentum, weight);
}

}  // namespace ttt::kernels::host
