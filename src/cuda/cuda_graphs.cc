#include "cuda/cuda_graphs.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <string>

#include "cuda/recorded_graphs.h"

namespace ttt::cuda {
namespace {

static_assert(std::is_same_v<PoolId, at::cuda::MempoolId_t>);

void check(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) throw Error(what + ": " + cudaGetErrorString(status));
}

// A failed capture of torch 2.11 undoes nothing. capture_begin() switches the allocators before the stream.
// capture_end() throws before it switches them back. reset() returns the pool only after a complete capture_end().
// The members say how far a capture came.
class TorchGraph final : public GraphCalls, private at::cuda::CUDAGraph {
 public:
  TorchGraph() : CUDAGraph(/*keep_graph=*/true) {}

  void settle() override {
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
  std::int64_t free_bytes() override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "the device's free memory cannot be asked for");
    return static_cast<std::int64_t>(free);
  }
  // Threads of loaders lock memory meanwhile, which a capture in the global mode would not survive.
  void begin(const PoolId& pool) override { capture_begin(pool, cudaStreamCaptureModeThreadLocal); }
  void end() override { capture_end(); }
  void instantiate() override { CUDAGraph::instantiate(); }
  std::int64_t count_nodes() override {
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(raw_cuda_graph(), nullptr, &nodes), "the nodes of the recorded graph cannot be counted");
    return static_cast<std::int64_t>(nodes);
  }
  void replay() override { CUDAGraph::replay(); }

  bool holds(const PoolId& pool) const override { return mempool_id_ == pool; }
  bool ended() const override { return capture_ended_; }
  void end_stream() override {
    if (graph_ && !has_graph_) cudaGraphDestroy(graph_), graph_ = nullptr;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(capture_stream_.stream(), &status), "the stream cannot be asked whether it records");
    if (status == cudaStreamCaptureStatusNone) return;
    cudaGraph_t left = nullptr;
    cudaStreamEndCapture(capture_stream_.stream(), &left);  // of an invalid capture an error, and its end all the same
    if (left) cudaGraphDestroy(left);
  }
  void end_device_allocations(const PoolId& pool) override {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(capture_dev_, pool);
  }
  void end_host_allocations(const PoolId& pool) override {
    at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool);
  }
  void release_device_pool(const PoolId& pool) override {
    c10::cuda::CUDACachingAllocator::releasePool(capture_dev_, pool);
  }
  void release_host_pool(const PoolId& pool) override { at::getHostAllocator(at::kCUDA)->release_pool(pool); }
  void end_random_numbers() override {
    for (const auto& [state, increment] : captured_generator_states_) state->capturing_ = false;
  }
  void forget_error() override { cudaGetLastError(); }
};

}  // namespace

GraphDevice& cuda_graphs() {
  // as long as the process: its graphs end when their owners do
  static auto& all =
      *make_recorded_graphs(at::cuda::graph_pool_handle, [] { return std::make_unique<TorchGraph>(); }).release();
  return all;
}

}  // namespace ttt::cuda
