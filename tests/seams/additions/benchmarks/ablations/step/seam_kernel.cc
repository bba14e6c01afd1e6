#include "kernels/scale/scale.h"
#include "measure/operation_arm.h"

namespace ttt::ablations {
namespace {

Variant variant(const char* name, int passes) {
  return {.name = name, .arm = [name, passes](const Bench& bench) -> std::unique_ptr<Arm> {
            const auto x = std::make_shared<std::vector<float>>(1 << 16, 3.0f);
            const auto y = std::make_shared<std::vector<float>>(x->size());
            return std::make_unique<OperationArm>(bench,
                Operation{.description = {{"scale", name}},
                    .run =
                        [=](std::int64_t) {
                          for (int i = 0; i < passes; ++i)
                            kernels::host::scale(static_cast<std::int64_t>(x->size()), x->data(), 0.5f, y->data());
                        },
                    .outputs = [=] { return std::vector<double>(y->begin(), y->end()); }});
          }};
}

}  // namespace

Ablation ablate_seam_kernel() {
  return {.name = "seam_kernel",
      .question = "What does a kernel that was added cost twice?",
      .claim = "none known",
      .expectation = "Twice the time.",
      .promise = Promise::kBitwise,
      .variants = {variant("once", 1), variant("twice", 2)}};
}

}  // namespace ttt::ablations
