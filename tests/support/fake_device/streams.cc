#include "tests/support/fake_device/streams.h"

#include <ATen/core/grad_mode.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "tests/support/fake_device/fake_device.h"
#include "tests/support/fake_device/unordered_sums.h"

namespace ttt::test {
namespace {

struct Copy {
  std::int64_t number;
  bool to_host;
  std::function<void()> make;
};
struct Event {
  c10::StreamId stream;
  std::int64_t number;  // of the last copy that it stands behind
};
struct Users {
  c10::StreamId stream;
  std::set<c10::StreamId> used, kept;
};

struct All {
  std::recursive_mutex mutex;
  std::int64_t last = 0;
  std::map<c10::StreamId, std::deque<Copy>> copies;
  std::map<const void*, Users> memory;
  std::int64_t early = 0;
};
All& all() {
  static auto& it = *new All;  // tensors of other statics may go later
  return it;
}
thread_local c10::StreamId current = 0;

// Copies up to `number`, in their order.
void make(c10::StreamId stream, std::int64_t number, bool to_host_too) {
  const at::NoGradGuard no_grad;
  const std::lock_guard lock(all().mutex);
  std::deque<Copy>& copies = all().copies[stream];
  for (auto c = copies.begin(); c != copies.end() && c->number <= number;) {
    if (c->to_host && !to_host_too) {
      ++c;
      continue;
    }
    const Copy now = std::move(*c);
    c = copies.erase(c);
    now.make();
  }
}

void add(bool to_host, std::function<void()> work) {
  const std::lock_guard lock(all().mutex);
  all().copies[current].push_back({++all().last, to_host, std::move(work)});
}

// NaN as floating-point numbers, -1 as whole ones.
void spoil(const at::Tensor& t) { std::memset(t.mutable_data_ptr(), 0xFF, t.nbytes()); }

}  // namespace

c10::StreamId current_stream() { return current; }
c10::StreamId exchange_stream(c10::StreamId stream) { return std::exchange(current, stream); }

void copy_to_device_later(const at::Tensor& from, const at::Tensor& to) {
  use(to);
  spoil(on_cpu(to));
  add(false, [from, to] { on_cpu(to).copy_(from); });
}
void copy_to_host_later(const at::Tensor& from, const at::Tensor& to) {
  work_comes({from});
  const at::Tensor values = on_cpu(from).clone();
  spoil(to);
  add(true, [values, to] { to.copy_(values); });
}

void work_comes(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors) use(t);
  make(current, all().last, false);
}
void use(const at::Tensor& t) {
  if (!t.defined() || t.is_cpu()) return;
  const std::lock_guard lock(all().mutex);
  const auto found = all().memory.find(t.storage().data());
  if (found != all().memory.end()) found->second.used.insert(current);
}
void finish_stream() { make(current, all().last, true); }

void record_event(void** event, c10::StreamId stream) {
  const std::lock_guard lock(all().mutex);
  destroy_event(*event);
  *event = new Event{stream, all().last};
}
void destroy_event(void* event) { delete static_cast<Event*>(event); }
void finish_event(void* event) {
  if (const auto* e = static_cast<const Event*>(event)) make(e->stream, e->number, true);
}
bool event_has_come(void* event) {
  const auto* e = static_cast<const Event*>(event);
  if (!e) return true;
  const std::lock_guard lock(all().mutex);
  const std::deque<Copy>& copies = all().copies[e->stream];
  return copies.empty() || copies.front().number > e->number;
}

void memory_taken(const void* data) {
  const std::lock_guard lock(all().mutex);
  all().memory[data] = {.stream = current, .used = {}, .kept = {}};
}
void memory_kept_for(const at::Tensor& t, c10::StreamId stream) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().memory.find(t.storage().data());
  if (found != all().memory.end()) found->second.kept.insert(stream);
}
void memory_given_back(const void* data) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().memory.find(data);
  if (found == all().memory.end()) return;
  for (const c10::StreamId stream : found->second.used)
    if (stream != found->second.stream && !found->second.kept.contains(stream)) ++all().early;
  all().memory.erase(found);
}

std::int64_t early_returns() {
  const std::lock_guard lock(all().mutex);
  return all().early;
}

}  // namespace ttt::test
