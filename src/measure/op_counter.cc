#include "measure/op_counter.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/Logging.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <mutex>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "measure/op_flops.h"

namespace ttt::roofline {
namespace {

// The callbacks are plain functions without a context: what they count lies here, for the one counter that is alive.
struct Tally {
  std::mutex mutex;
  OpCounts counts;
  std::int64_t live_bytes = 0;
  int log_level = 0;  // before
  std::string error;
  std::atomic<bool> taken = false;
};
Tally& tally() {
  static Tally t;
  return t;
}

// Where this thread stands among nested operators: depth 1 is an outermost call. `flops` and `sync` are the depths at
// which a counted operator began, 0: none.
thread_local struct { int depth = 0, flops = 0, sync = 0; } nesting;

// The size of an output or the host's next decision depends on values. A boolean mask as an index calls nonzero.
bool needs_value(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"aten::item", "aten::_local_scalar_dense",
      "aten::is_nonzero", "aten::equal", "aten::allclose", "aten::nonzero", "aten::argwhere", "aten::masked_select",
      "aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive", "aten::bincount"};
  return names.contains(name);
}

// copy_(self, src, non_blocking): device memory to the host, waited for.
bool copies_to_host(std::string_view name, c10::ArrayRef<const c10::IValue> a) {
  return name == "aten::copy_" && a[0].toTensor().is_cpu() && !a[1].toTensor().is_cpu() && !a[2].toBool();
}

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction& call) {
  if (!call.operator_name()) return nullptr;  // a node of autograd or a named range: not an operator
  const std::string_view name = call.name();
  ++nesting.depth;
  Tally& t = tally();
  std::optional<std::int64_t> flops;
  bool waits = false;
  try {
    if (!nesting.flops) flops = op_flops(name, call.inputs());
    waits = !nesting.sync && (needs_value(name) || copies_to_host(name, call.inputs()));
  } catch (const std::exception& e) {
    const std::lock_guard lock(t.mutex);
    t.error = std::string(name) + ": " + e.what();
  }
  if (flops) nesting.flops = nesting.depth;
  if (waits) nesting.sync = nesting.depth;
  const std::lock_guard lock(t.mutex);
  t.counts.calls += nesting.depth == 1;
  t.counts.flops += flops.value_or(0);
  if (waits) ++t.counts.sync_points[std::string(name)];
  return nullptr;
}

void end_operator(const at::RecordFunction& call, at::ObserverContext*) {
  if (!call.operator_name()) return;
  if (nesting.flops == nesting.depth) nesting.flops = 0;
  if (nesting.sync == nesting.depth) nesting.sync = 0;
  --nesting.depth;
}

// LibTorch's allocators report to the one that is current on the allocating thread; autograd's threads inherit it with
// the caller's state.
class MemoryReporter : public c10::MemoryReportingInfoBase {
 public:
  bool memoryProfilingEnabled() const override { return true; }
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    Tally& t = tally();
    const std::lock_guard lock(t.mutex);
    t.live_bytes += bytes;  // negative: freed
    t.counts.peak_bytes = std::max(t.counts.peak_bytes, t.live_bytes);
    if (bytes <= 0) return;
    ++t.counts.allocations, t.counts.allocated_bytes += bytes;
  }
};

}  // namespace

std::int64_t OpCounts::sync_total() const {
  std::int64_t total = 0;
  for (const auto& [name, n] : sync_points) total += n;
  return total;
}

OpCounter::OpCounter() {
  Tally& t = tally();
  if (t.taken.exchange(true))
    throw Error("Two operator counters at a time would count the same calls twice. Destroy the first one first.");
  {
    const std::lock_guard lock(t.mutex);
    t.counts = {}, t.live_bytes = 0, t.error.clear();
  }
  // LibTorch warns of every thousandth block that was there before and is freed now: what is counted is what was
  // allocated since.
  t.log_level = std::exchange(FLAGS_caffe2_log_level, static_cast<int>(c10::GLOG_ERROR));
  memory_ =
      std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<MemoryReporter>());
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(begin_operator, end_operator).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

OpCounter::~OpCounter() {
  at::removeCallback(handle_);
  memory_.reset();
  FLAGS_caffe2_log_level = tally().log_level;
  tally().taken = false;
}

OpCounts OpCounter::counts() const {
  Tally& t = tally();
  const std::lock_guard lock(t.mutex);
  if (!t.error.empty()) throw Error("Operators cannot be counted: " + t.error);
  return t.counts;
}

}  // namespace ttt::roofline
