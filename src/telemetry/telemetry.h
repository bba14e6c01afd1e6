// TensorBoard events of a run: losses, norms and histograms of gradients and weights, pictures, accuracy.
//
// The norms also go into the result, where `report telemetry` looks for what stands out.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "eval/workload.h"
#include "result/run_recorder.h"
#include "settings/fields.h"
#include "telemetry/config.h"
#include "telemetry/event_file.h"
#include "telemetry/part_norm.h"
#include "telemetry/reductions.h"
#include "telemetry/update_norms.h"
#include "train/listener.h"
#include "train/loss_scaler.h"

namespace ttt::train {

// What it looks at; all but the recorder outlives it, which may be null: then nothing goes into a result.
struct TelemetrySources {
  model::Model& model;
  std::unique_ptr<eval::Gallery> gallery = nullptr;  // null: no pictures
  model::ParameterKernels kernels = {};              // of the model's; empty ones are the host's
  int ranks = 1;                                     // gradients are sums over so many
  const StepWithPartNorm* part_norm = nullptr;       // null: no norms of parts of batches
  std::int64_t global_batch = 0;                     // images; where there are such norms
  const LossScaler* scaler = nullptr;                // of the loss whose gradients they are; null: it is not scaled
  std::string run_id;
  result::RunRecorder* recorder = nullptr;
};

// What the steps of Telemetry mean for the ranks that have none: all must agree on when the host waits for a step.
class SampledSteps final : public Listener {
 public:
  explicit SampledSteps(const TelemetryConfig& config) : every_(config.every_steps) {}
  bool needs_sync(const Position& at) const override { return (at.step - 1) % every_ == 0; }

 private:
  std::int64_t every_;
};

// For one rank: the others need none, since weights and reduced gradients are the same on all. Losses and times are
// this rank's.
class Telemetry final : public Listener {
 public:
  // Throws UsageError where the folder cannot be written.
  Telemetry(const TelemetryConfig& config, TelemetrySources sources);
  ~Telemetry() override;  // when everything is written

  void run_started(const Position& at) override;
  void save(Sections& sections) override;
  void restore(const Sections& sections) override;
  void step_starts(const Position& at) override;
  void step_ended(const Position& at, const result::StepSample& sample) override;
  bool needs_sync(const Position& at) const override { return is_sampled(at.step - 1); }
  void evaluation_predicted(const Position& at, bool training_continues) override;
  void evaluated(const Position& at, const result::Evaluation& evaluation) override;

 private:
  // Sums over the steps since the last sample.
  struct Since {
    std::vector<double> loss;
    std::array<double, result::kPhaseNames.size()> phase_s{};
    double step_s = 0;
    std::int64_t images = 0, steps = 0;
  };

  bool is_sampled(std::int64_t step) const { return step % config_.every_steps == 0; }
  void add_losses_and_times(result::EventMessage& event) const;
  void add_norms(const result::TelemetrySample& norms, result::EventMessage& event) const;
  void add_histograms(result::EventMessage& event) const;
  double gradient_scale() const;  // turns what lies in the parameters into gradients of the mean loss
  result::TelemetrySample norms(std::int64_t step) const;
  void add_pictures(std::int64_t step);
  // visit(address, bytes) of all that a resumed run needs.
  template <class Visit> void for_each_kept(const Visit& visit) {
    for (double& loss : since_.loss) visit(&loss, sizeof loss);
    visit(&since_.phase_s, sizeof since_.phase_s), visit(&since_.step_s, sizeof since_.step_s);
    visit(&since_.images, sizeof since_.images), visit(&since_.steps, sizeof since_.steps);
    visit(&next_pictures_epoch_, sizeof next_pictures_epoch_);
  }

  const TelemetryConfig config_;
  TelemetrySources sources_;
  std::vector<LayerGroup> groups_;
  UpdateNorms update_;
  Reductions reductions_;
  double copy_s_ = 0;  // what keeping the weights took before the step that is sampled
  Since since_;
  double next_pictures_epoch_ = 0;
  result::EventWriter writer_;
};

}  // namespace ttt::train
