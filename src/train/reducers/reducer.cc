#include "train/reducers/reducer.h"

#include "core/clock.h"
#include "core/error.h"

namespace ttt::train {
namespace {

class NoReduction final : public Reducer {
 public:
  void finish() override {}
  ReducerTraits traits() const override { return {.idle = true}; }
  result::Json describe() const override { return {{"kind", "none"}}; }
};

}  // namespace

std::unique_ptr<Reducer> make_none(const ReducerConfig&, const ReducerInputs&) {
  return std::make_unique<NoReduction>();
}

std::unique_ptr<Reducer> make_reducer(const ReducerConfig& config, const ReducerInputs& inputs) {
  if (inputs.comm.size() == 1) return std::make_unique<NoReduction>();
#define TTT_MAKE(name, doc) \
  if (config.kind == #name) return make_##name(config, inputs);
  TTT_REDUCERS(TTT_MAKE)
#undef TTT_MAKE
  throw UsageError("train.reducer.kind = \"" + config.kind + "\": there is no such reducer.");
}

BucketTrace::BucketTrace(const ReducerInputs& inputs, std::size_t buckets) {
  if (!inputs.trace) return;
  inputs.comm.trace(&inputs.trace->lane("gradients travel", buckets));
  lane_ = &inputs.trace->lane("gradients ready", buckets);
}

void BucketTrace::ready(std::size_t bucket, std::size_t count) const {
  if (!lane_) return;
  const double now = now_s();
  lane_->add({.start_s = now,
      .end_s = now,
      .bytes = static_cast<std::int64_t>(count * sizeof(float)),
      .number = static_cast<std::int32_t>(bucket),
      .event = trace::Event::kBucketReady});
}

std::string through_host(const comm::Communicator& comm) {
  return comm.on_device() ? "" : "gradients travel through the host (" + comm.name() + ")";
}

}  // namespace ttt::train
