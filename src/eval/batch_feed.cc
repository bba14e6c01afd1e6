#include "eval/batch_feed.h"

#include <utility>

namespace ttt::eval {

FedBatch start_copies(const data::HostBatch& host, model::CopyStream& stream, const model::Preprocessor& place) {
  FedBatch fed{.inputs = {}, .frame = data::HostBatch::in(std::pmr::new_delete_resource())};
  fed.frame.image_size = host.image_size, fed.frame.original_size = host.original_size;
  fed.frame.image_id = host.image_id;
  const model::DeviceBatch all = model::view_of(host);
  fed.inputs = {.images = all.images, .image_size = all.image_size, .image_id = all.image_id, .raw = all.raw};
  stream.start([&](const auto& copy) {
    copy(fed.inputs.image_size), copy(fed.inputs.image_id);
    if (!fed.inputs.raw.defined()) return copy(fed.inputs.images);
    for (at::Tensor* t : fed.inputs.raw.tensors()) copy(*t);
    place(fed.inputs);
  });
  return fed;
}

void finish_copies(FedBatch& batch, model::CopyStream& stream) {
  stream.join();
  for (const at::Tensor* t : {&batch.inputs.images, &batch.inputs.image_size, &batch.inputs.image_id})
    stream.hand_over(*t);
}

void BatchFeed::start_next() {
  const data::HostBatch* host = loader_.next();
  coming_ = host ? std::make_unique<FedBatch>(start_copies(*host, stream_, place_)) : nullptr;
}

const FedBatch* BatchFeed::next() {
  if (!std::exchange(begun_, true) || !stream_.copies()) start_next();
  now_ = std::move(coming_);
  if (!now_) return nullptr;
  finish_copies(*now_, stream_);
  if (stream_.copies()) {
    stream_.wait();  // they were started a prediction ago; the loader's memory is free again
    start_next();
  }
  return now_.get();
}

}  // namespace ttt::eval
