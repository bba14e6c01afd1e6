// Runs fixed pieces of tensor code under an OpCounter and prints what it counted, one JSON object for each.
// op_counter.py runs the same calls.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "core/error.h"
#include "measure/op_counter.h"

namespace {

using at::Tensor;
using ttt::roofline::OpCounter;
using ttt::roofline::OpCounts;

void print(const char* name, const OpCounts& c) {
  std::printf(
      "{\"name\": \"%s\", \"calls\": %lld, \"flops\": %lld, \"allocations\": %lld, \"allocated_bytes\": %lld, "
      "\"sync_points\": {",
      name, (long long)c.calls, (long long)c.flops, (long long)c.allocations, (long long)c.allocated_bytes);
  const char* comma = "";
  for (const auto& [op, n] : c.sync_points)
    std::printf("%s\"%s\": %lld", comma, op.c_str(), (long long)n), comma = ", ";
  std::printf("}}\n");
}

// The second run is counted: the first one makes the gradients to which later ones add.
void counted(const char* name, const std::function<void()>& body) {
  body();
  OpCounter counter;
  body();
  print(name, counter.counts());
}

Tensor leaf(at::IntArrayRef shape, bool grad = true) { return at::rand(shape).set_requires_grad(grad); }

// The input needs no gradient, the second weight is frozen: backward has both kinds of output mask.
void net() {
  const Tensor image = leaf({2, 3, 37, 41}, false), w1 = leaf({8, 3, 3, 3}), b1 = leaf({8}),
               w2 = leaf({12, 8, 3, 1}, false), w3 = leaf({12, 6, 2, 2}), w4 = leaf({5, 6}), b4 = leaf({5}),
               other = leaf({2, 5, 7});
  counted("net", [&] {
    Tensor x = at::relu(at::conv2d(image, w1, b1, {2, 2}, {1, 1}));
    x = at::conv2d(x, w2, {}, at::IntArrayRef{1, 2}, at::IntArrayRef{0, 3}, at::IntArrayRef{2, 1});
    x = at::conv_transpose2d(x, w3, {}, {2, 2});
    x = at::linear(at::mean(x, {3}).transpose(1, 2), w4, b4);
    at::bmm(x, other).sum().backward();
  });
}

void groups() {
  const Tensor x = leaf({2, 8, 11, 9}), w = leaf({8, 2, 3, 3}), v = leaf({8, 3, 2, 2});
  counted(
      "groups", [&] { at::conv_transpose2d(at::conv2d(x, w, {}, 1, 1, 1, 4), v, {}, 2, 0, 0, 2).sum().backward(); });
}

void matrices() {
  const Tensor a = leaf({7, 11}, false), b = leaf({11, 5}, false), c = leaf({7, 5}, false), d = leaf({3, 7, 11}, false),
               e = leaf({3, 11, 2}, false);
  counted("matrices", [&] {
    at::mm(a, b);
    at::addmm(c, a, b);
    Tensor out = c.clone();
    at::mm_out(out, a, b);
    out.addmm_(a, b);
    at::matmul(d, e);
    at::baddbmm(at::zeros({3, 7, 2}), d, e);
    at::linear(d, leaf({4, 11}, false));
    at::einsum("bij,bjk->bik", {d, e});
  });
}

void syncs() {
  const Tensor x = at::arange(12, at::kFloat);
  counted("syncs", [&] {
    x.sum().item<float>();
    const Tensor mask = x > 5;
    x.index({mask});
    at::masked_select(x, mask);
    at::nonzero(mask);
    at::where(mask);
    at::equal(x, x);
    at::_unique2(x);
    x.index({at::arange(3)});
    at::masked_fill(x, mask, 0.0);
    mask.any().is_nonzero();
  });
}

void another_thread() {
  counted("another_thread", [] { std::thread([] { at::mm(at::ones({4, 5}), at::ones({5, 6})); }).join(); });
}

// After a counter is gone nothing is called and nothing counted; a second one beside the first is refused.
bool removed() {
  try {
    OpCounter first, second;
    return false;
  } catch (const ttt::Error&) {}
  if (at::hasCallbacks() || c10::memoryProfilingEnabled()) return false;
  at::mm(at::ones({4, 4}), at::ones({4, 4}));
  OpCounter fresh;
  return at::hasCallbacks() && c10::memoryProfilingEnabled() && fresh.counts().calls == 0 &&
         fresh.counts().allocations == 0;
}

}  // namespace

int main() {
  at::set_num_threads(2);
  net(), groups(), matrices(), syncs(), another_thread();
  if (removed() && !at::hasCallbacks() && !c10::memoryProfilingEnabled()) return 0;
  std::fprintf(stderr, "a counter leaves callbacks behind, counts before its time or allows another\n");
  return 1;
}
