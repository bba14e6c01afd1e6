// What tests of a step on a device share: a model and batches small enough for kernels that are executed thread by thread.
#pragma once

#include <cstdint>

#include "models/mask_rcnn/config.h"
#include "models/mask_rcnn/mask_rcnn.h"
#include "train/optimizers/optimizer.h"

namespace ttt::test {

model::ModelConfig small_model();

// Two images of noise with a few rectangles as objects, outlines and bitmaps alike; the second has one less.
struct SmallBatch {
  std::int64_t side = 64;    // of the padded images [pixel], at least 64
  std::uint64_t noise = 1;   // what is drawn: other pixels, other bitmaps
  std::int32_t larger = 0;   // so much wider and higher each object is [pixel]
};
model::DeviceBatch small_batch(const at::Device& device, const SmallBatch& which = {});

// Of the host, or the device's kernels under the emulation.
model::DetectionOps ops_on(const at::Device& device);
model::ParameterKernels parameter_kernels_on(const at::Device& device);
train::Rates rates_on(const at::Device& device, double lr);

}  // namespace ttt::test
