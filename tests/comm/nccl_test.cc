// NCCL over the ranks of this launch, one device each. Skips where there is no GPU for every rank.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "cuda/loader.h"
#include "tests/support/mpi_main.h"

namespace ttt::comm {
namespace {

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    try {
      // Before anything asks torch about CUDA.
      library_ = cuda::open_cuda_library();
    } catch (const NotSupported& e) { GTEST_SKIP() << e.what(); }
    const World& world = test_world();
    if (library_->devices() < world.local_size()) GTEST_SKIP() << "fewer devices than ranks";
    host_ = world.communicator();
    device_ = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(world.local_rank()));
    comm_ = library_->make_nccl(*host_, {.device = world.local_rank(), .timeout_s = 60});
  }

  std::unique_ptr<cuda::CudaLibrary> library_;
  std::unique_ptr<Communicator> host_, comm_;
  at::Device device_ = at::kCPU;
};

TEST_F(Nccl, Sums_AreOrderedOnCurrentStream) {
  const int size = comm_->size();
  for (std::int64_t n : {1, 1000, 10000019}) {
    at::Tensor x = at::arange(n, at::device(device_).dtype(at::kFloat)).remainder_(97).mul_(comm_->rank() + 1);
    const at::Tensor expected = at::arange(n, at::kFloat).remainder_(97).mul_(size * (size + 1) / 2);
    const auto work = comm_->all_reduce_sum_async(x.data_ptr<float>(), n);
    work->wait();
    EXPECT_TRUE(at::equal(x.cpu(), expected)) << n;  // integers below 2^24: exact in any order
  }
}

TEST_F(Nccl, DoublesMaximaAndBroadcast) {
  at::Tensor x = at::full({5}, comm_->rank() + 1.0, at::device(device_).dtype(at::kDouble)), y = x.clone(),
             z = x.clone();
  comm_->all_reduce_sum(x.data_ptr<double>(), 5);
  comm_->all_reduce_max(y.data_ptr<double>(), 5);
  comm_->broadcast(z.data_ptr(), 5 * sizeof(double), comm_->size() - 1);
  const int size = comm_->size();
  EXPECT_TRUE(at::equal(x.cpu(), at::full({5}, size * (size + 1) / 2.0, at::kDouble)));
  EXPECT_TRUE(at::equal(y.cpu(), at::full({5}, 1.0 * size, at::kDouble)));
  EXPECT_TRUE(at::equal(z.cpu(), at::full({5}, 1.0 * size, at::kDouble)));
  comm_->barrier();
}

}  // namespace
}  // namespace ttt::comm
