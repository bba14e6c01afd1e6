// Gradients summed over ranks. Where and when they travel is the difference between the reducers.
//
// They know nothing of tensors: a flat array of float32, and where in it each parameter begins.
// train/gradient_hooks.h tells them when backward has finished one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "settings/fields.h"
#include "core/trace.h"
#include "settings/json.h"

namespace ttt::train {

struct ReducerConfig {
  std::string kind = "bucketed";
  std::int64_t bucket_bytes = 4 << 20;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v("kind", s.kind,
      "blocking: after backward, all at once; flat_async: the same, while the next batch is fetched; bucketed: each bucket as soon as backward has filled it; none: not at all, to measure what communication costs (replicas diverge)",
      one_of({"blocking", "flat_async", "bucketed", "none"}));
    v("bucket_bytes", s.bucket_bytes, "size from which a bucket is closed [byte]", between(1, 1e12));
  }
};

// One step: begin(), ready() for each parameter as backward finishes it (in any order, on one thread), launch() after backward and before
// the next batch is fetched, finish().
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual bool overlaps_backward() const { return false; }  // whether ready() does anything
  virtual void begin() {}
  virtual void ready(std::size_t /*parameter*/) {}
  virtual void launch() {}
  virtual void finish() = 0;  // the array holds the sum over ranks
  virtual bool idle() const { return false; }  // nothing is ever done
  // Why what it does cannot be recorded and replayed by a device, "" where it can.
  virtual std::string bound_to_host() const = 0;
  virtual result::Json describe() const = 0;
  // Records when each bucket was ready and when it travelled. A reducer that sends all at once has one bucket.
  virtual void trace(trace::Recorder& /*recorder*/) {}
};

// `gradients`: memory that `comm` reduces; must outlive the reducer. `offsets`: where each parameter begins, ascending from
// 0; what lies between two parameters travels with the first. Buckets are contiguous ranges. Every rank starts the same collectives in the same order.
std::unique_ptr<GradientReducer> make_reducer(const ReducerConfig& config, std::span<float> gradients, std::span<const std::int64_t> offsets,
                                              comm::Communicator& comm);

}  // namespace ttt::train
