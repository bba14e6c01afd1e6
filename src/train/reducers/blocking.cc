// All gradients at once after backward, while nothing else happens.
#include "train/reducers/reducer.h"

namespace ttt::train {
namespace {

class Blocking final : public Reducer {
 public:
  explicit Blocking(const ReducerInputs& in) : gradients_(in.gradients), comm_(in.comm), trace_(in, 1) {}
  void launch() override { trace_.ready(0, gradients_.size()); }
  void finish() override { comm_.all_reduce_sum(gradients_.data(), gradients_.size()); }
  ReducerTraits traits() const override { return {.not_capturable = through_host(comm_)}; }
  result::Json describe() const override { return {{"kind", "blocking"}, {"communicator", comm_.name()}}; }

 private:
  std::span<float> gradients_;
  comm::Communicator& comm_;
  BucketTrace trace_;
};

}  // namespace

std::unique_ptr<Reducer> make_blocking(const ReducerConfig&, const ReducerInputs& inputs) { return std::make_unique<Blocking>(inputs); }

}  // namespace ttt::train
