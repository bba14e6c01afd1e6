// Gradients summed over ranks. Where and when they travel is the difference between the reducers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/fields.h"
#include "model/parameters.h"
#include "result/json.h"

namespace ttt::train {

struct ReducerConfig {
  std::string kind = "bucketed";
  std::int64_t bucket_bytes = 4 << 20;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v("kind", s.kind,
      "blocking: after backward, all at once; flat_async: the same, while the next batch is fetched; bucketed: each bucket as soon as backward has filled it; none: not at all, to measure what communication costs (replicas diverge)",
      one_of({"blocking", "flat_async", "bucketed", "none"}));
    v("bucket_bytes", s.bucket_bytes, "size from which a bucket is closed [byte]", at_least(1));
  }
};

class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual void begin() {}   // before backward
  virtual void launch() {}  // after backward, before the next batch is fetched
  virtual void finish() = 0;  // flat_gradients() holds the sum over ranks
  virtual result::Json describe() const = 0;
};

// The buckets are contiguous ranges of the flat gradient in memory order. Every rank starts the same collectives in the same order.
std::unique_ptr<GradientReducer> make_reducer(const ReducerConfig& config, model::ParameterStore& store, comm::Communicator& comm);

}  // namespace ttt::train
