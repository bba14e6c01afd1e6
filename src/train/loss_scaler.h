// Dynamic loss scaling (Micikevicius et al. 2018) for float16, whose small gradients would be zero. The loss is
// multiplied before backward, and gradients are divided again in the update. A step whose gradients are not finite is
// skipped. All of it happens where the parameters lie; the host never asks.
#pragma once

#include <ATen/core/Tensor.h>

#include "settings/fields.h"
#include "settings/json.h"
#include "train/listener.h"

namespace ttt::train {

struct LossScaleConfig {
  double initial = 65536;
  double growth = 2, backoff = 0.5;
  std::int64_t interval = 2000;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("initial", s.initial, "factor of the loss at the start", between(1e-3, 1e12));
    v("growth", s.growth, "by which it grows after `interval` steps without a skipped one", between(1, 1000));
    v("backoff", s.backoff, "by which it shrinks after a skipped step", between(0, 1));
    v("interval", s.interval, "steps until it grows", between(1, 1e9));
  }
};

// It follows the run as a listener does, for checkpoints.
class LossScaler final : public Listener {
 public:
  LossScaler(const LossScaleConfig& config, const at::Device& device);

  const at::Tensor& scale() const { return scale_; }      // [1] float32
  const at::Tensor& last_scale() const { return last_; }  // of the step before the last update()
  // [1] int32 that an update sets to 1 where it found a gradient that is not finite; 0 before.
  at::Tensor clear_found();
  // After the update: shrinks where it found one, grows where it is time.
  void update();

  void save(Sections& sections) override;
  void restore(const Sections& sections) override;
  result::Json describe() const;  // of now: waits for the device

 private:
  at::Tensor packed() const;  // [3] float32 on the CPU: scale, steps since it changed, skipped steps

  LossScaleConfig config_;
  at::Tensor scale_, last_, steady_, found_, skipped_;  // steady_, found_ and skipped_ [1] int32
};

// The loss that goes backward; null: as it is.
at::Tensor scaled(const at::Tensor& loss, const LossScaler* scaler);

}  // namespace ttt::train
