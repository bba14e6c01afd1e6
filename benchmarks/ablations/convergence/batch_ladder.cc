#include "measure/ablation.h"

namespace ttt::ablations {

namespace {

// `rate`: where the search begins at the first batch.
Variant optimizer(const char* kind, double rate, double weight_decay) {
  return {.name = kind, .change = [kind, rate, weight_decay](train::Recipe& r) {
            r.train.optimizer.kind = kind;
            r.train.optimizer.weight_decay = weight_decay;
            r.train.schedule.lr = rate;
          }};
}

}  // namespace

// Rates are constant after the warm-up. Each optimizer's is searched at each batch, so that none profits from another's
// tuning. Decays are the papers' or the presets', not searched.
Ablation ablate_batch_ladder() {
  return {.name = "batch_ladder",
      .question = "Up to which batch does each optimizer need no more images to the target?",
      .claim = "NovoGrad trains Mask R-CNN up to batch 512, LARS and LAMB beyond SGD's batches",
      .source = "SageMakerCV; You et al. 2017, 2020",
      .expectation = "Epochs rise as 1 + batch / critical batch, later for LARS, LAMB and NovoGrad than for SGD.",
      .promise = Promise::kOtherWork,
      .variants = {optimizer("sgd", 0.005, 1e-4), optimizer("adamw", 1e-3, 0.01), optimizer("lars", 5, 1e-4),
          optimizer("lamb", 4e-3, 0.01), optimizer("novograd", 0.01, 1e-3)},
      .batch_ladder = {.batches = {2, 4, 8, 16, 32, 64, 128, 256},
          .change = [](train::Recipe& r) { r.data.generated_held_out = 200; },  // of 1,600 to train on
          .warmup_images = 200}};
}

}  // namespace ttt::ablations
