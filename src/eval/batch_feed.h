// Batches for predictions. On a device the next batch is on its way while one is predicted.
#pragma once

#include <memory>

#include "data/host_batch.h"
#include "data/loader.h"
#include "models/batch.h"
#include "models/copy_stream.h"
#include "models/preprocessor.h"

namespace ttt::eval {

struct FedBatch {
  model::DeviceBatch inputs;  // what a prediction reads, on the device
  data::HostBatch frame;      // ids and sizes of its images, without their pixels
};

// Starts the copies of what a prediction reads; on a CPU the tensors share the batch's memory.
FedBatch start_copies(const data::HostBatch& host, model::CopyStream& stream, const model::Preprocessor& place);
// Later work of the current stream reads the batch.
void finish_copies(FedBatch& batch, model::CopyStream& stream);

class BatchFeed {
 public:
  // `loader` outlives it; its memory should be such that the device copies from it without the host waiting.
  BatchFeed(data::Loader& loader, const at::Device& device, model::Preprocessor place)
      : loader_(loader), stream_(device), place_(std::move(place)) {}

  // The next batch, or null after the last. It stays valid until the next call.
  const FedBatch* next();

 private:
  void start_next();

  data::Loader& loader_;
  model::CopyStream stream_;
  model::Preprocessor place_;
  bool begun_ = false;
  std::unique_ptr<FedBatch> now_, coming_;
};

}  // namespace ttt::eval
