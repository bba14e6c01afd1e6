#include "tests/support/fake_device/fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>

#include "tests/support/fake_device/convolution_keys.h"
#include "tests/support/fake_device/recorder.h"
#include "tests/support/fake_device/streams.h"
#include "tests/support/fake_device/unordered_sums.h"

namespace ttt::test {
namespace {

constexpr at::DeviceType kType = at::DeviceType::PrivateUse1;

struct Waits {
  std::mutex mutex;
  std::map<std::string, std::int64_t> count;
  std::atomic<bool> forbidden = false;
  void note(const std::string& what) {
    if (recorder().active()) throw std::runtime_error("operation not permitted while the stream is recorded: " + what);
    if (forbidden) throw std::runtime_error("called a synchronizing operation: " + what);
    const std::lock_guard lock(mutex);
    ++count[what];
  }
};
Waits& noted() {
  static Waits all;
  return all;
}

class LockedMemory final : public std::pmr::memory_resource {
 public:
  bool holds(const void* p) const {
    const std::lock_guard lock(mutex_);
    const auto after = ranges_.upper_bound(static_cast<const std::byte*>(p));
    return after != ranges_.begin() && p < std::prev(after)->first + std::prev(after)->second;
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* p = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    const std::lock_guard lock(mutex_);
    ranges_[static_cast<const std::byte*>(p)] = bytes;
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    {
      const std::lock_guard lock(mutex_);
      ranges_.erase(static_cast<const std::byte*>(p));
    }
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> ranges_;
};
LockedMemory& locked() {
  static LockedMemory memory;
  return memory;
}

// Depth of operations that are being computed on the CPU: what they copy is not the program's doing.
thread_local int computing = 0;
struct Computing {
  Computing() { ++computing; }
  ~Computing() { --computing; }
};

// Memory with guards. What torch computes is written behind the emulation's back, so every byte counts as written.
class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const at::Device device(kType, 0);
    if (bytes == 0) return {nullptr, nullptr, &release, device};
    auto* block = new emulation::DeviceBytes(bytes, emulation::DeviceBytes::Kind::kInOut, 1, "a tensor");
    recorder().born(block);
    memory_taken(block->data());
    return {block->data(), block, &release, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static void release(void* context) {
    if (!context) return;
    auto* block = static_cast<emulation::DeviceBytes*>(context);
    memory_given_back(block->data());
    recorder().released(block);
  }
};
Memory memory;
REGISTER_ALLOCATOR(kType, &memory)

struct Work {
  std::mutex mutex;
  std::condition_variable done;
  bool busy = false;
};
Work& work() {
  static Work all;
  return all;
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  at::DeviceType type() const override { return kType; }
  at::Device exchangeDevice(at::Device) const override { return {kType, 0}; }
  at::Device getDevice() const override { return {kType, 0}; }
  void setDevice(at::Device) const override {}
  void uncheckedSetDevice(at::Device) const noexcept override {}
  static c10::Stream stream(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, at::Device(kType, 0), id); }
  c10::Stream getStream(at::Device) const override { return stream(current_stream()); }
  c10::Stream getStreamFromGlobalPool(at::Device, bool) const override { return stream(kCopyStream); }
  c10::Stream getDefaultStream(at::Device) const override { return stream(0); }
  c10::Stream exchangeStream(c10::Stream to) const override { return stream(exchange_stream(to.id())); }
  at::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const c10::Stream& by, const at::DeviceIndex, const c10::EventFlag) const override {
    record_event(event, by.id());
  }
  // What follows on the stream may be done at once, so what it waits for is done now.
  void block(void* event, const c10::Stream&) const override { finish_event(event); }
  void destroyEvent(void* event, const at::DeviceIndex) const noexcept override { destroy_event(event); }
  bool queryEvent(void* event) const override {
    const std::lock_guard lock(work().mutex);
    return !work().busy && event_has_come(event);
  }
  void synchronizeEvent(void* event) const override {
    {
      std::unique_lock lock(work().mutex);
      work().done.wait(lock, [] { return !work().busy; });
    }
    finish_event(event);
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex) const override { return true; }
  at::DeviceIndex deviceCount() const override { return 1; }
  bool isPinnedPtr(const void* p) const override { return locked().holds(p); }
};
const bool registered = [] {
  static Hooks hooks;
  c10::register_privateuse1_backend("double");
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();

// Does `again` at every replay of what is being recorded, where anything is and it is not part of another operation.
void record(const std::function<void()>& again) {
  if (!recorder().active() || computing > 0) return;
  recorder().add([again] {
    const Computing inside;
    again();
  });
}
void write(const at::Tensor& to, const at::Tensor& values) {
  if (to.defined()) on_cpu(to).copy_(values);
}

at::Tensor on_fake(const at::Tensor& t) {
  if (!t.defined()) return t;
  const at::Tensor out = at::empty_like(t, t.options().device(fake_device()));
  on_cpu(out).copy_(t);
  return out;
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
    std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(
      size, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype), format);
}
at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(
      size, stride, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  const bool out = to.is_cpu(), in = self.is_cpu();
  const bool free = non_blocking && locked().holds((out ? to : self).const_data_ptr());
  if ((out || in) && self.numel() > 0 && computing == 0 && !free)
    noted().note(out ? "copy to the host" : "copy from the host");
  if (computing == 0 && !recorder().active()) {
    if (free && self.numel() > 0 && on_cpu(to).is_non_overlapping_and_dense()) {
      (out ? copy_to_host_later : copy_to_device_later)(self, to);
      return to;
    }
    if (out || in) finish_stream();
  }
  if (computing == 0) work_comes({self, to});
  if (out && free && computing == 0) {  // captured: the host has nothing before the replay, and then it comes late
    record([self, to] { copy_to_host_later(self, to); });
    return to;
  }
  record([self, to] { write(to, on_cpu(self)); });
  const Computing inside;
  write(to, on_cpu(self));
  return to;
}
at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  if (to.sizes() != self.sizes()) to.resize_(self.sizes());
  return copy_from(self, to, false);
}
at::Scalar local_scalar_dense(const at::Tensor& self) {
  if (computing == 0) noted().note("item"), finish_stream(), use(self);
  return at::_local_scalar_dense(on_cpu(self));
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
    c10::IntArrayRef output_padding, std::int64_t groups) {
  note_convolution("forward", {x, weight}, stride, padding, dilation, groups);
  work_comes({x, weight});
  const auto compute = [=, stride = stride.vec(), padding = padding.vec(), dilation = dilation.vec(),
                           output_padding = output_padding.vec()] {
    const std::optional<at::Tensor> b = bias && bias->defined() ? std::optional(on_cpu(*bias)) : std::nullopt;
    return at::convolution(on_cpu(x), on_cpu(weight), b, stride, padding, dilation, transposed, output_padding, groups);
  };
  const at::Tensor out = on_fake(compute());
  record([compute, out] { write(out, compute()); });
  return out;
}
std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(const at::Tensor& grad, const at::Tensor& x,
    const at::Tensor& weight, c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation,
    bool transposed, c10::IntArrayRef output_padding, std::int64_t groups, std::array<bool, 3> mask) {
  work_comes({grad, x, weight});
  if (mask[0]) note_convolution("gradient of the input", {grad, weight, x}, stride, padding, dilation, groups);
  if (mask[1]) note_convolution("gradient of the weight", {grad, x, weight}, stride, padding, dilation, groups);
  const auto compute = [=, stride = stride.vec(), padding = padding.vec(), dilation = dilation.vec(),
                           output_padding = output_padding.vec()] {
    return at::convolution_backward(on_cpu(grad), on_cpu(x), on_cpu(weight),
        at::IntArrayRef({weight.size(transposed ? 1 : 0)}), stride, padding, dilation, transposed, output_padding,
        groups, mask);
  };
  const auto [gx, gw, gb] = compute();
  const std::array<at::Tensor, 3> out = {on_fake(gx), on_fake(gw), on_fake(gb)};
  record([compute, out] {
    const auto [x, w, b] = compute();
    write(out[0], x), write(out[1], w), write(out[2], b);
  });
  return {out[0], out[1], out[2]};
}

// Operations whose result's shape, or whose answer, only the values tell. (Indexing by a mask asks for nonzero.)
bool reads_by_nature(const std::string& name) {
  static const std::set<std::string> all = {"aten::nonzero", "aten::masked_select", "aten::equal", "aten::unique_dim",
      "aten::_unique2", "aten::unique_consecutive", "aten::repeat_interleave", "aten::bincount"};
  return all.contains(name);
}

c10::WarningHandler& silence() {
  struct Silence final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  static Silence handler;
  return handler;
}

void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Computing inside;
  const c10::WarningUtils::WarningHandlerGuard quiet(&silence());  // that a result was given its shape
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

std::vector<at::Tensor> tensors_in(const torch::jit::Stack& values) {
  std::vector<at::Tensor> all;
  for (const c10::IValue& v : values) {
    if (v.isTensor() && v.toTensor().defined()) all.push_back(v.toTensor());
    if (v.isTensorList())
      for (const at::Tensor& t : v.toTensorVector()) all.push_back(t);
  }
  return all;
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  if (computing == 0 && reads_by_nature(name)) noted().note(name.substr(name.find("::") + 2));
  const auto of_operation = [&](std::size_t n) {
    return torch::jit::Stack(stack->end() - static_cast<std::ptrdiff_t>(n), stack->end());
  };
  if (computing == 0) {
    note_sums(op, of_operation(op.schema().arguments().size()));
    for (const at::Tensor& t : tensors_in(of_operation(op.schema().arguments().size()))) use(t);
    work_comes();
  }
  const bool recorded = recorder().active() && computing == 0;
  const torch::jit::Stack arguments = recorded ? of_operation(op.schema().arguments().size()) : torch::jit::Stack{};
  compute_on_cpu(op, stack);
  if (!recorded) return;
  record([op, arguments, results = tensors_in(of_operation(op.schema().returns().size()))] {
    torch::jit::Stack again = arguments;
    compute_on_cpu(op, &again);
    const auto values = tensors_in(again);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (values[i].const_data_ptr() != results[i].const_data_ptr()) write(results[i], on_cpu(values[i]));
  });
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("unfold", &at::native::unfold);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
  m.impl("resize_", &at::native::resize_);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("record_stream", [](at::Tensor& t, c10::Stream by) { memory_kept_for(t, by.id()); });
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  // whose general form takes no channels-last tensor
  m.impl("native_group_norm", torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

}  // namespace

at::Device fake_device() { return {kType, 0}; }

std::pmr::memory_resource* locked_memory() { return &locked(); }

std::map<std::string, std::int64_t> waits() {
  const std::lock_guard lock(noted().mutex);
  return noted().count;
}

void set_busy(bool busy) {
  {
    const std::lock_guard lock(work().mutex);
    work().busy = busy;
  }
  work().done.notify_all();
}

void forbid_waits(bool forbidden) { noted().forbidden = forbidden; }

void reset_waits() {
  const std::lock_guard lock(noted().mutex);
  noted().count.clear();
}

}  // namespace ttt::test
