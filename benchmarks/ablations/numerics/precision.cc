#include "measure/ablation.h"
#include "models/mask_rcnn/config.h"

namespace ttt::ablations {
namespace {

Variant precision(const char* name) {
  return {.name = name, .change = [name](train::Recipe& r) { r.model.as<model::ModelConfig>().precision = name; }};
}

std::string needs_bfloat16(const Capabilities& here) {
  return here.device != "cpu" || here.bfloat16 ? "" : "this CPU has no instructions for bfloat16 (AVX512_BF16)";
}

}  // namespace

Ablation ablate_precision() {
  return {.name = "precision",
      .question = "What is it worth to multiply in fewer bits?",
      .claim = "Mixed precision lowers memory, so batches can be larger; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Matrix units multiply fewer bits faster, and activations take half the memory; layers that are bound by "
          "memory, the own kernels and the "
          "update gain less or nothing. Accuracy: compare epochs to target of whole runs, not steps.",
      .promise = Promise::kOtherWork,  // other numbers, and so other proposals
      .variants = {precision("fp32"), precision("tf32"), precision("bf16"), precision("fp16")},
      .unsupported = needs_bfloat16};
}

}  // namespace ttt::ablations
