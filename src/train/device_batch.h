// Host batch -> tensors.
#pragma once

#include "data/host_batch.h"
#include "model/batch.h"

namespace ttt::train {

// On a CPU the tensors share the host batch's memory: it must outlive the step.
model::DeviceBatch to_device(const data::HostBatch& host, const at::Device& device);

}  // namespace ttt::train
