#include "train/reducer.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>

#include "core/error.h"

namespace ttt::train {
namespace {

class Blocking final : public GradientReducer {
 public:
  Blocking(model::ParameterStore& store, comm::Communicator& comm) : store_(store), comm_(comm) {}
  void finish() override {
    at::Tensor& flat = store_.flat_gradients();
    comm_.all_reduce_sum(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  }
  result::Json describe() const override { return {{"kind", "blocking"}, {"communicator", comm_.name()}}; }

 private:
  model::ParameterStore& store_;
  comm::Communicator& comm_;
};

class FlatAsync final : public GradientReducer {
 public:
  FlatAsync(model::ParameterStore& store, comm::Communicator& comm) : store_(store), comm_(comm) {}
  void launch() override {
    at::Tensor& flat = store_.flat_gradients();
    work_ = comm_.all_reduce_sum_async(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  }
  void finish() override {
    work_->wait();
    work_.reset();
  }
  result::Json describe() const override { return {{"kind", "flat_async"}, {"communicator", comm_.name()}}; }

 private:
  model::ParameterStore& store_;
  comm::Communicator& comm_;
  std::unique_ptr<comm::Work> work_;
};

class GradientReady final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit GradientReady(std::function<void()> call) : call_(std::move(call)) {}
  void operator()(const torch::autograd::Variable&) override { call_(); }

 private:
  std::function<void()> call_;
};

class Bucketed final : public GradientReducer {
 public:
  Bucketed(model::ParameterStore& store, comm::Communicator& comm, std::int64_t bucket_bytes) : store_(store), comm_(comm) {
    const auto limit = static_cast<std::int64_t>(bucket_bytes / sizeof(float));
    for (model::Parameter* p : store.trainable()) {
      if (buckets_.empty() || buckets_.back().end - buckets_.back().begin >= limit) buckets_.push_back({.begin = p->offset});
      buckets_.back().end = p->offset + p->count;
      ++buckets_.back().parameters;
      const std::size_t bucket = buckets_.size() - 1;
      torch::autograd::impl::set_post_acc_grad_hooks(p->value, std::make_unique<GradientReady>([this, bucket] { ready(bucket); }));
    }
  }
  ~Bucketed() override {
    for (model::Parameter* p : store_.trainable()) torch::autograd::impl::set_post_acc_grad_hooks(p->value, nullptr);
  }

  void begin() override {
    works_.clear();
    for (Bucket& b : buckets_) b.waiting = b.parameters;
  }
  void launch() override {
    // Parameters without a gradient in this step (none in this model) would keep their bucket back: send it anyway.
    while (works_.size() < buckets_.size()) start_next();
  }
  void finish() override {
    for (auto& work : works_) work->wait();
    works_.clear();
  }
  result::Json describe() const override {
    result::Json sizes = result::Json::array();
    for (const Bucket& b : buckets_) sizes.push_back((b.end - b.begin) * static_cast<std::int64_t>(sizeof(float)));
    return {{"kind", "bucketed"}, {"communicator", comm_.name()}, {"bucket_bytes", sizes}};
  }

 private:
  struct Bucket {
    std::int64_t begin = 0, end = 0;
    int parameters = 0, waiting = 0;
  };

  void ready(std::size_t bucket) {
    --buckets_[bucket].waiting;
    // In order, whatever order backward took on this rank: collectives must match across ranks.
    while (works_.size() < buckets_.size() && buckets_[works_.size()].waiting == 0) start_next();
  }
  void start_next() {
    const Bucket& b = buckets_[works_.size()];
    works_.push_back(comm_.all_reduce_sum_async(store_.flat_gradients().data_ptr<float>() + b.begin, static_cast<std::size_t>(b.end - b.begin)));
  }

  model::ParameterStore& store_;
  comm::Communicator& comm_;
  std::vector<Bucket> buckets_;
  std::vector<std::unique_ptr<comm::Work>> works_;
};

class NoReduction final : public GradientReducer {
 public:
  void finish() override {}
  result::Json describe() const override { return {{"kind", "none"}}; }
};

}  // namespace

std::unique_ptr<GradientReducer> make_reducer(const ReducerConfig& config, model::ParameterStore& store, comm::Communicator& comm) {
  if (comm.size() == 1 || config.kind == "none") return std::make_unique<NoReduction>();
  if (config.kind == "blocking") return std::make_unique<Blocking>(store, comm);
  if (config.kind == "flat_async") return std::make_unique<FlatAsync>(store, comm);
  return std::make_unique<Bucketed>(store, comm, config.bucket_bytes);
}

}  // namespace ttt::train
