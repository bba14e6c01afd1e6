// Each bucket of gradients as soon as backward has filled it (Li et al. 2020, PyTorch DDP).
#include "core/error.h"
#include "train/reducers/reducer.h"

namespace ttt::train {
namespace {

struct Bucket {
  std::size_t begin = 0, count = 0;
  int parameters = 0, waiting = 0;
};

class Bucketed final : public Reducer {
 public:
  Bucketed(const ReducerConfig& config, const ReducerInputs& in)
      : gradients_(in.gradients), comm_(in.comm), buckets_(cut(config, in)), trace_(in, buckets_.size()) {
    reset();
  }

  void ready(std::size_t parameter) override {
    const std::size_t bucket = bucket_of_[parameter];
    if (--buckets_[bucket].waiting == 0) trace_.ready(bucket, buckets_[bucket].count);
    // In order, whatever order backward took on this rank: collectives must match across ranks.
    while (works_.size() < buckets_.size() && buckets_[works_.size()].waiting == 0) start_next();
  }
  void launch() override {
    // Parameters without a gradient in this step (none in this model) would keep their bucket back: send it anyway.
    while (works_.size() < buckets_.size()) start_next();
  }
  void finish() override {
    for (auto& work : works_) work->wait();
    reset();
  }
  ReducerTraits traits() const override { return {.overlaps_backward = true, .not_capturable = through_host(comm_)}; }
  result::Json describe() const override {
    result::Json sizes = result::Json::array();
    for (const Bucket& b : buckets_) sizes.push_back(b.count * sizeof(float));
    return {{"kind", "bucketed"}, {"communicator", comm_.name()}, {"bucket_bytes", sizes}};
  }

 private:
  // Fills bucket_of_ too.
  std::vector<Bucket> cut(const ReducerConfig& config, const ReducerInputs& in) {
    const auto limit = static_cast<std::size_t>(config.bucket_bytes) / sizeof(float);
    std::vector<Bucket> buckets;
    for (std::size_t i = 0; i < in.offsets.size(); ++i) {
      const auto begin = static_cast<std::size_t>(in.offsets[i]);
      const std::size_t end = i + 1 < in.offsets.size() ? static_cast<std::size_t>(in.offsets[i + 1]) : in.gradients.size();
      if (begin >= end || end > in.gradients.size() || (i == 0 && begin != 0))
        throw Error("The parameters do not lie one behind the other in the gradient array. This is a mistake in the caller.");
      if (buckets.empty() || buckets.back().count >= limit) buckets.push_back({.begin = begin});
      buckets.back().count += end - begin;
      ++buckets.back().parameters;
      bucket_of_.push_back(buckets.size() - 1);
    }
    return buckets;
  }

  void reset() {
    works_.clear();
    for (Bucket& b : buckets_) b.waiting = b.parameters;
  }

  void start_next() {
    const Bucket& b = buckets_[works_.size()];
    comm_.number_next(static_cast<std::int32_t>(works_.size()));
    works_.push_back(comm_.all_reduce_sum_async(gradients_.data() + b.begin, b.count));
  }

  std::span<float> gradients_;
  comm::Communicator& comm_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<Bucket> buckets_;
  BucketTrace trace_;
  std::vector<std::unique_ptr<comm::Work>> works_;
};

}  // namespace

std::unique_ptr<Reducer> make_bucketed(const ReducerConfig& config, const ReducerInputs& inputs) { return std::make_unique<Bucketed>(config, inputs); }

}  // namespace ttt::train
