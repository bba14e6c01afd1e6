#include "train/reducers/reducer.h"

#include "core/error.h"

namespace ttt::train {
namespace {

// Where a reducer over `comm` notes its buckets.
trace::Lane* trace_buckets(trace::Recorder& recorder, comm::Communicator& comm, std::size_t buckets) {
  comm.trace(&recorder.lane("gradients travel", buckets));
  return &recorder.lane("gradients ready", buckets);
}

void note_ready(trace::Lane* lane, std::size_t bucket, std::size_t count) {
  if (!lane) return;
  const double now = now_s();
  lane->add({.start_s = now, .end_s = now, .bytes = static_cast<std::int64_t>(count * sizeof(float)), .number = static_cast<std::int32_t>(bucket),
             .event = trace::Event::kBucketReady});
}

std::string on_host(const comm::Communicator& comm) { return comm.on_device() ? "" : "gradients travel through the host (" + comm.name() + ")"; }

class Blocking final : public GradientReducer {
 public:
  Blocking(std::span<float> gradients, comm::Communicator& comm) : gradients_(gradients), comm_(comm) {}
  void launch() override { note_ready(lane_, 0, gradients_.size()); }
  void finish() override { comm_.all_reduce_sum(gradients_.data(), gradients_.size()); }
  std::string bound_to_host() const override { return on_host(comm_); }
  result::Json describe() const override { return {{"kind", "blocking"}, {"communicator", comm_.name()}}; }
  void trace(trace::Recorder& recorder) override { lane_ = trace_buckets(recorder, comm_, 1); }

 private:
  std::span<float> gradients_;
  comm::Communicator& comm_;
  trace::Lane* lane_ = nullptr;
};

class FlatAsync final : public GradientReducer {
 public:
  FlatAsync(std::span<float> gradients, comm::Communicator& comm) : gradients_(gradients), comm_(comm) {}
  void launch() override {
    note_ready(lane_, 0, gradients_.size());
    work_ = comm_.all_reduce_sum_async(gradients_.data(), gradients_.size());
  }
  void finish() override {
    work_->wait();
    work_.reset();
  }
  std::string bound_to_host() const override { return on_host(comm_); }
  result::Json describe() const override { return {{"kind", "flat_async"}, {"communicator", comm_.name()}}; }
  void trace(trace::Recorder& recorder) override { lane_ = trace_buckets(recorder, comm_, 1); }

 private:
  std::span<float> gradients_;
  comm::Communicator& comm_;
  trace::Lane* lane_ = nullptr;
  std::unique_ptr<comm::Work> work_;
};

class Bucketed final : public GradientReducer {
 public:
  Bucketed(std::span<float> gradients, std::span<const std::int64_t> offsets, comm::Communicator& comm, std::int64_t bucket_bytes)
      : gradients_(gradients), comm_(comm) {
    const auto limit = static_cast<std::size_t>(bucket_bytes) / sizeof(float);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto begin = static_cast<std::size_t>(offsets[i]);
      const std::size_t end = i + 1 < offsets.size() ? static_cast<std::size_t>(offsets[i + 1]) : gradients.size();
      if (begin >= end || end > gradients.size() || (i == 0 && begin != 0))
        throw Error("The parameters do not lie one behind the other in the gradient array. This is a mistake in the caller.");
      if (buckets_.empty() || buckets_.back().count >= limit) buckets_.push_back({.begin = begin});
      buckets_.back().count += end - begin;
      ++buckets_.back().parameters;
      bucket_of_.push_back(buckets_.size() - 1);
    }
  }

  bool overlaps_backward() const override { return true; }
  void begin() override {
    works_.clear();
    for (Bucket& b : buckets_) b.waiting = b.parameters;
  }
  void ready(std::size_t parameter) override {
    const std::size_t bucket = bucket_of_[parameter];
    if (--buckets_[bucket].waiting == 0) note_ready(lane_, bucket, buckets_[bucket].count);
    // In order, whatever order backward took on this rank: collectives must match across ranks.
    while (works_.size() < buckets_.size() && buckets_[works_.size()].waiting == 0) start_next();
  }
  void launch() override {
    // Parameters without a gradient in this step (none in this model) would keep their bucket back: send it anyway.
    while (works_.size() < buckets_.size()) start_next();
  }
  void finish() override {
    for (auto& work : works_) work->wait();
    works_.clear();
  }
  std::string bound_to_host() const override { return on_host(comm_); }
  result::Json describe() const override {
    result::Json sizes = result::Json::array();
    for (const Bucket& b : buckets_) sizes.push_back(b.count * sizeof(float));
    return {{"kind", "bucketed"}, {"communicator", comm_.name()}, {"bucket_bytes", sizes}};
  }
  void trace(trace::Recorder& recorder) override { lane_ = trace_buckets(recorder, comm_, buckets_.size()); }

 private:
  struct Bucket {
    std::size_t begin = 0, count = 0;
    int parameters = 0, waiting = 0;
  };

  void start_next() {
    const Bucket& b = buckets_[works_.size()];
    comm_.number_next(static_cast<std::int32_t>(works_.size()));
    works_.push_back(comm_.all_reduce_sum_async(gradients_.data() + b.begin, b.count));
  }

  std::span<float> gradients_;
  comm::Communicator& comm_;
  trace::Lane* lane_ = nullptr;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<std::unique_ptr<comm::Work>> works_;
};

class NoReduction final : public GradientReducer {
 public:
  void finish() override {}
  bool idle() const override { return true; }
  std::string bound_to_host() const override { return ""; }
  result::Json describe() const override { return {{"kind", "none"}}; }
};

}  // namespace

std::unique_ptr<GradientReducer> make_reducer(const ReducerConfig& config, std::span<float> gradients, std::span<const std::int64_t> offsets,
                                              comm::Communicator& comm) {
  if (comm.size() == 1 || config.kind == "none") return std::make_unique<NoReduction>();
  if (config.kind == "blocking") return std::make_unique<Blocking>(gradients, comm);
  if (config.kind == "flat_async") return std::make_unique<FlatAsync>(gradients, comm);
  return std::make_unique<Bucketed>(gradients, offsets, comm, config.bucket_bytes);
}

}  // namespace ttt::train
