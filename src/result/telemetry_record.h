// Sizes of gradients, weights and updates over a run, by groups of layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "result/record_fields.h"

namespace ttt::result {

// Of one step. Norms are Euclidean (L2), one for each group in TelemetrySeries' order.
struct TelemetrySample {
  std::int64_t step = 0;  // from 0
  // by which the step took longer on the rank that recorded: what the telemetry itself costs
  double cost_s = 0;
  std::vector<double> gradient_norm;  // of the mean over ranks, as the optimiser got it: without weight decay
  std::vector<double> weight_norm;    // after the step's update; trainable weights alone
  std::vector<double> update_norm;    // of what the update added to the weights
  // Scalar product of the weights before the update and gradient_norm's gradient; of all groups, or empty.
  std::vector<double> weight_gradient = {};
  // Of each group its TelemetryGroup::reductions, one after the other; or empty.
  std::vector<double> reductions = {};
  // Of all groups, of the part of the batch that NoiseSeries names. Nothing without it.
  std::optional<double> part_gradient_norm = {};

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("step", s.step, "from 0", at_least(0));
    v("cost_s", s.cost_s, "by which the step took longer", at_least(0));
    v("gradient_norm", s.gradient_norm, "", at_least(0));
    v("weight_norm", s.weight_norm, "", at_least(0));
    v("update_norm", s.update_norm, "", at_least(0));
    v.optional("weight_gradient", s.weight_gradient, "scalar product of weights before the update and gradient");
    v.optional("reductions", s.reductions, "of each group in turn, as its reductions name them");
    v.optional("part_gradient_norm", s.part_gradient_norm, "of a part of the batch, all groups", at_least(0));
  }
};

// Beside the norms of the whole batch's gradients, for the gradient noise scale.
struct NoiseSeries {
  std::int64_t part_images = 0, batch_images = 0;
  std::vector<double> part_gradient_norm;  // of all groups, of the mean over the part's images; one for each sample

  template <class Self, class Visitor> static void fields(Self& n, Visitor&& v) {
    v("part_images", n.part_images, "of the part, one rank's first", at_least(1));
    v("batch_images", n.batch_images, "of the batch, all ranks", at_least(2));
    v("part_gradient_norm", n.part_gradient_norm, "before other parts and ranks are added", at_least(0));
  }
};

// One number of a group besides its norms.
struct TelemetryReduction {
  std::string of, kind;
  std::vector<double> values = {};  // one for each sample

  template <class Self, class Visitor> static void fields(Self& m, Visitor&& v) {
    v("of", m.of, "gradient or weight", one_of({"gradient", "weight"}));
    v("kind", m.kind, "as train.telemetry.reductions names it", matching("."));
    v("values", m.values, "one for each sample");
  }
};

struct TelemetryGroup {
  std::string name;
  std::int64_t parameters = 0;                                  // trainable numbers
  std::vector<double> gradient_norm, weight_norm, update_norm;  // a number for each sample
  std::vector<double> weight_gradient = {};                     // the same, or empty
  std::vector<TelemetryReduction> reductions = {};

  template <class Self, class Visitor> static void fields(Self& g, Visitor&& v) {
    v("name", g.name, "", matching("."));
    v("parameters", g.parameters, "trainable numbers", at_least(1));
    v("gradient_norm", g.gradient_norm, "of the mean over ranks, without weight decay", at_least(0));
    v("weight_norm", g.weight_norm, "after the step's update", at_least(0));
    v("update_norm", g.update_norm, "of what the update added", at_least(0));
    v.optional("weight_gradient", g.weight_gradient, "scalar product of weights before the update and gradient");
    v.optional("reductions", g.reductions, "of gradients and weights, as train.telemetry.reductions asks");
  }
};

struct TelemetrySeries {
  std::int64_t every_steps = 0;
  std::vector<std::int64_t> step;
  std::vector<double> cost_s;
  std::vector<TelemetryGroup> groups;
  std::optional<NoiseSeries> noise = {};
  // Pictures of evaluation images: the step after which they were made, and what that took.
  std::vector<std::int64_t> picture_step;
  std::vector<double> picture_cost_s;

  std::size_t size() const { return step.size(); }
  void add(const TelemetrySample& sample);  // with as many norms of each kind as there are groups
  TelemetrySeries without_samples() const;
  std::vector<std::string> names() const;  // of the groups
  bool has_columns_of(const TelemetrySeries& other) const;

  template <class Self, class Visitor> static void fields(Self& t, Visitor&& v) {
    v("every_steps", t.every_steps, "", at_least(1));
    v("step", t.step, "of each sample, ascending", at_least(0));
    v("cost_s", t.cost_s, "by which that step took longer on the rank that recorded", at_least(0));
    v("groups", t.groups, "Euclidean norms of groups of layers");
    v.optional("noise", t.noise, "for the gradient noise scale; absent: not asked for");
    v.group("pictures", "of evaluation images", [&](auto&& p) {
      p("step", t.picture_step, "after which they were made", at_least(0));
      p("cost_s", t.picture_cost_s, "", at_least(0));
    });
  }
  // Throws DataError where columns differ in length or steps do not ascend.
  static void check(const TelemetrySeries& series, const std::string& path);
};

}  // namespace ttt::result
