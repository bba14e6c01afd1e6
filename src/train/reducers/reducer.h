// Gradients summed over ranks. Where and when they travel is the difference between the reducers.
//
// They know nothing of tensors: a flat array of float32, and where in it each parameter begins. models/gradient_hooks.h
// tells them when backward has finished one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/trace.h"
#include "settings/fields.h"
#include "settings/json.h"

// The choices of train.reducer.kind. To add one: a line here, and reducers/<kind>.cc with make_<kind>.
#define TTT_REDUCERS(X)                                        \
  X(blocking, "after backward, all at once")                   \
  X(flat_async, "the same, while the next batch is fetched")   \
  X(bucketed, "each bucket as soon as backward has filled it") \
  X(none, "not at all, to measure what communication costs (replicas diverge)")

namespace ttt::train {

struct ReducerConfig {
  std::string kind = "bucketed";
  std::int64_t bucket_bytes = 4 << 20;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("kind", s.kind, "when gradients travel" TTT_REDUCERS(TTT_CHOICE_DOC), one_of({TTT_REDUCERS(TTT_CHOICE_NAME)}));
    v("bucket_bytes", s.bucket_bytes, "size from which a bucket is closed [byte]", between(1, 1e12));
  }
};

struct ReducerTraits {
  bool idle = false;                // nothing is ever done
  bool overlaps_backward = false;   // ready() does something
  std::string not_capturable = {};  // why launch() and finish() cannot be captured and replayed, "" where they can
};

// One step: ready() for each parameter as backward finishes it (in any order, on one thread), launch() after backward
// and before the next batch is fetched, finish().
class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual void ready(std::size_t /*parameter*/) {}
  virtual void launch() {}
  virtual void finish() = 0;  // the array holds the sum over ranks; the reducer is ready for the next step
  virtual ReducerTraits traits() const = 0;
  virtual result::Json describe() const = 0;
};

// A reducer's surroundings; all outlive it.
struct ReducerInputs {
  std::span<float> gradients;  // memory that `comm` reduces
  // Where each parameter begins, ascending from 0; what lies between two parameters travels with the first. Buckets are
  // contiguous ranges. Every rank starts the same collectives in the same order.
  std::span<const std::int64_t> offsets;
  comm::Communicator& comm;
  trace::Recorder* trace = nullptr;  // notes when each bucket was ready and when it travelled; null: nobody does
};

// As the configuration says; with one rank, the one that does nothing.
std::unique_ptr<Reducer> make_reducer(const ReducerConfig& config, const ReducerInputs& inputs);

#define TTT_DECLARE(name, doc) \
  std::unique_ptr<Reducer> make_##name(const ReducerConfig& config, const ReducerInputs& inputs);
TTT_REDUCERS(TTT_DECLARE)
#undef TTT_DECLARE

// The trace of a reducer's buckets; one that sends all at once has one.
class BucketTrace {
 public:
  BucketTrace(const ReducerInputs& inputs, std::size_t buckets);
  void ready(std::size_t bucket, std::size_t count) const;

 private:
  trace::Lane* lane_ = nullptr;
};

// ReducerTraits::not_capturable of collectives over `comm`.
std::string through_host(const comm::Communicator& comm);

}  // namespace ttt::train
