#include "cuda/recorded_graphs.h"

#include <exception>
#include <optional>
#include <string>

#include "core/foreign_error.h"

namespace ttt::cuda {
namespace {

// What takes something back may find that it is back already.
void attempt(const std::function<void()>& call) noexcept {
  try {
    call();
  } catch (...) {}
}

class RecordedGraph final : public Graph {
 public:
  explicit RecordedGraph(std::unique_ptr<GraphCalls> calls) : calls_(std::move(calls)) {}

  void record(const PoolId& pool, const std::function<void()>& work) {
    try {
      // So that what the recording takes shows; and nothing may be under way on its stream.
      calls_->settle();
      const std::int64_t before = calls_->free_bytes();
      calls_->begin(pool);
      work();
      calls_->end();
      calls_->instantiate();
      size_ = {.nodes = calls_->count_nodes(), .bytes = before - calls_->free_bytes()};
    } catch (...) {
      abandon(pool);
      throw;
    }
  }
  void replay() override { calls_->replay(); }
  GraphSize size() const override { return size_; }

 private:
  // The first error has said all that there is to say. The stream comes first: allocators ask it whether it records.
  // What is not taken back would have every later recording fail: the allocators give back no memory while one is under
  // way.
  void abandon(const PoolId& pool) noexcept {
    attempt([&] { calls_->end_stream(); });
    if (calls_->holds(pool)) {
      attempt([&] { calls_->end_device_allocations(pool); });
      attempt([&] { calls_->end_host_allocations(pool); });
      if (!calls_->ended()) {  // else its destructor does it
        attempt([&] { calls_->release_device_pool(pool); });
        attempt([&] { calls_->release_host_pool(pool); });
      }
    }
    attempt([&] { calls_->end_random_numbers(); });
    attempt([&] { calls_->forget_error(); });
  }

  std::unique_ptr<GraphCalls> calls_;
  GraphSize size_;
};

class RecordedGraphs final : public GraphDevice {
 public:
  RecordedGraphs(std::function<PoolId()> new_pool, std::function<std::unique_ptr<GraphCalls>()> new_graph)
      : new_pool_(std::move(new_pool)), new_graph_(std::move(new_graph)) {}

  std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
    try {
      if (!pool_) pool_ = new_pool_();
      auto graph = std::make_unique<RecordedGraph>(new_graph_());
      graph->record(*pool_, work);
      return graph;
    } catch (const std::exception& e) {
      pool_.reset();  // what the work that failed allocated may still be in use
      throw NotCapturable(shortened(e.what()));
    }
  }

 private:
  std::function<PoolId()> new_pool_;
  std::function<std::unique_ptr<GraphCalls>()> new_graph_;
  std::optional<PoolId> pool_;
};

}  // namespace

std::unique_ptr<GraphDevice> make_recorded_graphs(
    std::function<PoolId()> new_pool, std::function<std::unique_ptr<GraphCalls>()> new_graph) {
  return std::make_unique<RecordedGraphs>(std::move(new_pool), std::move(new_graph));
}

}  // namespace ttt::cuda
