#include "train/loss_scaler.h"

#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cstring>

#include "core/error.h"

namespace ttt::train {
namespace {

constexpr const char* kSection = "loss_scale";
constexpr std::size_t kNumbers = 3;

}  // namespace

LossScaler::LossScaler(const LossScaleConfig& config, const at::Device& device)
    : config_(config), scale_(at::full({1}, config.initial, at::TensorOptions(at::kFloat).device(device))),
      last_(scale_.clone()), steady_(at::zeros({1}, at::TensorOptions(at::kInt).device(device))),
      found_(at::zeros_like(steady_)), skipped_(at::zeros_like(steady_)) {}

at::Tensor LossScaler::clear_found() { return found_.zero_(); }

void LossScaler::update() {
  last_.copy_(scale_);
  skipped_.add_(found_);
  at::_amp_update_scale_(scale_, steady_, found_.to(at::kFloat), config_.growth, config_.backoff, config_.interval);
}

at::Tensor LossScaler::packed() const {
  return at::cat({scale_, steady_.to(at::kFloat), skipped_.to(at::kFloat)}).to(at::kCPU);
}

void LossScaler::save(Sections& sections) {
  const at::Tensor numbers = packed();
  sections[kSection] = std::string(static_cast<const char*>(numbers.const_data_ptr()), kNumbers * sizeof(float));
}

void LossScaler::restore(const Sections& sections) {
  const auto found = sections.find(kSection);
  if (found == sections.end() || found->second.size() != kNumbers * sizeof(float))
    throw DataError(
        "The checkpoint holds no loss scale: it was made with another model.precision. Keep model.precision, or start "
        "a run of its own in another train.checkpoint.folder.");
  float numbers[kNumbers];
  std::memcpy(numbers, found->second.data(), sizeof numbers);
  scale_.fill_(numbers[0]);
  steady_.fill_(static_cast<std::int64_t>(numbers[1]));
  skipped_.fill_(static_cast<std::int64_t>(numbers[2]));
}

at::Tensor scaled(const at::Tensor& loss, const LossScaler* scaler) {
  return scaler ? loss * scaler->scale().squeeze(0) : loss;
}

result::Json LossScaler::describe() const {
  const at::Tensor numbers = packed();
  const auto* values = numbers.const_data_ptr<float>();
  return {{"scale", values[0]}, {"skipped_steps", static_cast<std::int64_t>(values[2])}};
}

}  // namespace ttt::train
