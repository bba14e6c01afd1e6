// All gradients at once after backward, while the next batch is fetched.
#include "train/reducers/reducer.h"

namespace ttt::train {
namespace {

class FlatAsync final : public Reducer {
 public:
  explicit FlatAsync(const ReducerInputs& in) : gradients_(in.gradients), comm_(in.comm), trace_(in, 1) {}
  void launch() override {
    trace_.ready(0, gradients_.size());
    work_ = comm_.all_reduce_sum_async(gradients_.data(), gradients_.size());
  }
  void finish() override {
    work_->wait();
    work_.reset();
  }
  ReducerTraits traits() const override { return {.not_capturable = through_host(comm_)}; }
  result::Json describe() const override { return {{"kind", "flat_async"}, {"communicator", comm_.name()}}; }

 private:
  std::span<float> gradients_;
  comm::Communicator& comm_;
  BucketTrace trace_;
  std::unique_ptr<comm::Work> work_;
};

}  // namespace

std::unique_ptr<Reducer> make_flat_async(const ReducerConfig&, const ReducerInputs& inputs) { return std::make_unique<FlatAsync>(inputs); }

}  // namespace ttt::train
