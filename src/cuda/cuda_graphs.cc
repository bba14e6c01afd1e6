#include "cuda/cuda_graphs.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace ttt::cuda {
namespace {

// Torch's errors go on with a trace of the stack.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::int64_t free_bytes() {
  std::size_t free = 0, total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<std::int64_t>(free) : 0;
}

class CudaGraph final : public Graph {
 public:
  void record(const at::cuda::MempoolId_t& pool, const std::function<void()>& work) {
    // Everything allocated so far goes back, so that what the recording takes shows; and nothing may be under way on its stream.
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();
    const std::int64_t before = free_bytes();
    // Threads of loaders lock memory meanwhile, which a capture in the global mode would not survive.
    graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      abandon();
      throw;
    }
    graph_.capture_end();
    graph_.instantiate();
    std::size_t nodes = 0;
    if (const cudaError_t e = cudaGraphGetNodes(graph_.raw_cuda_graph(), nullptr, &nodes); e != cudaSuccess)
      throw Error(std::string("the nodes of the recorded graph cannot be counted: ") + cudaGetErrorString(e));
    size_ = {.nodes = static_cast<std::int64_t>(nodes), .bytes = before - free_bytes()};
  }
  void replay() override { graph_.replay(); }
  GraphSize size() const override { return size_; }

 private:
  // Ends the recording that failed, whose error has said all that there is to say, and takes back the errors that it left.
  void abandon() noexcept {
    try {
      graph_.capture_end();
    } catch (...) {
    }
    cudaGetLastError();
  }

  at::cuda::CUDAGraph graph_{/*keep_graph=*/true};
  GraphSize size_;
};

class CudaGraphs final : public GraphDevice {
 public:
  std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
    if (!pool_) pool_ = at::cuda::graph_pool_handle();
    auto graph = std::make_unique<CudaGraph>();
    try {
      graph->record(*pool_, work);
    } catch (const std::exception& e) {
      throw NotCapturable(first_line(e.what()));
    }
    return graph;
  }

 private:
  std::optional<at::cuda::MempoolId_t> pool_;
};

}  // namespace

GraphDevice& cuda_graphs() {
  static auto& all = *new CudaGraphs;  // as long as the process: its graphs end when their owners do
  return all;
}

}  // namespace ttt::cuda
