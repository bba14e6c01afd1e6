// The numbers of a run's telemetry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings/fields.h"

// The choices of train.telemetry.reductions.
#define TTT_REDUCTIONS(X)                              \
  X(l1, "sum of absolute values")                      \
  X(mean, "arithmetic mean")                           \
  X(std, "standard deviation around the group's mean") \
  X(min, "least")                                      \
  X(max, "greatest")                                   \
  X(nonfinite, "how many are infinite or no number")

// The choices of train.telemetry.norms.
#define TTT_NORM_METHODS(X)                                                            \
  X(fused, "one pass over gradients, weights and updates")                             \
  X(foreach, "torch's list operators, a pass for each kind, one transfer to the host") \
  X(per_tensor, "a norm and a transfer for each parameter and kind")

namespace ttt::train {

struct TelemetryConfig {
  std::string folder;
  std::int64_t every_steps = 10;
  std::int64_t histograms_every = 100;
  std::int64_t pictures = 4;
  double pictures_every_epochs = 1;
  bool noise_scale = false, weight_split = false;
  std::vector<std::string> groups, reductions;
  std::string norms = "fused";

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("folder", s.folder,
        "folder in which each run has one of its own, named by its run_id, with TensorBoard event files; made where it "
        "is missing; empty: no telemetry, in the result neither");
    v("every_steps", s.every_steps, "steps between samples: losses, times, norms of gradients, weights and updates",
        between(1, 1e9));
    v("histograms_every", s.histograms_every,
        "steps between histograms of gradients and weights, a multiple of every_steps; 0: none", between(0, 1e9));
    v("pictures", s.pictures,
        "evaluation images that are drawn with their true and predicted objects, the first of the data set; 0: none",
        between(0, 1000));
    v("pictures_every_epochs", s.pictures_every_epochs, "epochs between such pictures; they are made at evaluations",
        between(0, 1e6));
    v("noise_scale", s.noise_scale,
        "samples hold the gradient norm of a part of the batch too, from which 'report telemetry' estimates the "
        "gradient noise scale; each step then reads the gradients once more");
    v("weight_split", s.weight_split,
        "samples hold the product of weights and gradients, by which 'report telemetry' splits the growth of the "
        "weights' norms into gradient and decay; a sample then takes a pass more over both");
    v("groups", s.groups,
        "regular expressions (ECMAScript), each the name of a group of those parameters in whose names it is found; "
        "the first counts, and 'others' are the rest; empty: the model's groups of layers");
    v("reductions", s.reductions,
        "what samples hold of each group's gradients and weights besides their norms; a number that is not finite "
        "counts as 0 in all but nonfinite" TTT_REDUCTIONS(TTT_CHOICE_DOC),
        one_of({TTT_REDUCTIONS(TTT_CHOICE_NAME)}));
    v("norms", s.norms, "how norms are taken" TTT_NORM_METHODS(TTT_CHOICE_DOC),
        one_of({TTT_NORM_METHODS(TTT_CHOICE_NAME)}));
  }
};

// Throws UsageError naming the key: an expression that is none, too.
void check(const TelemetryConfig& config);

}  // namespace ttt::train
