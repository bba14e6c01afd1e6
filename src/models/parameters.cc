#include "models/parameters.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/TensorOptions.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/rng.h"

namespace ttt::model {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (std::int64_t s : shape) n *= s;
  return n;
}

std::uint64_t name_key(const std::string& name) {
  // FNV-1a: each parameter draws from its own stream, whatever else the model has
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001B3ull;
  return h;
}

std::string shape_text(at::IntArrayRef shape) {
  std::string s = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

}  // namespace

Init constant(float value) {
  return [value](float* v, std::int64_t n, std::uint64_t) { std::fill(v, v + n, value); };
}

Init normal(double std) {
  return [std](float* v, std::int64_t n, std::uint64_t key) {
    Stream draw(key);
    for (std::int64_t i = 0; i < n; i += 2) {  // Box and Muller 1958
      const double r = std * std::sqrt(-2.0 * std::log(1.0 - draw.uniform())),
                   phi = 2.0 * std::numbers::pi * draw.uniform();
      v[i] = static_cast<float>(r * std::cos(phi));
      if (i + 1 < n) v[i + 1] = static_cast<float>(r * std::sin(phi));
    }
  };
}

Init uniform(double bound) {
  return [bound](float* v, std::int64_t n, std::uint64_t key) {
    Stream draw(key);
    for (std::int64_t i = 0; i < n; ++i) v[i] = static_cast<float>(draw.uniform(-bound, bound));
  };
}

double kaiming_normal_std(std::int64_t fan) { return std::sqrt(2.0 / static_cast<double>(fan)); }
double kaiming_uniform_bound(std::int64_t fan, double a) {
  return std::sqrt(6.0 / ((1 + a * a) * static_cast<double>(fan)));
}

Parameter* ParameterStore::add(
    std::string name, std::vector<std::int64_t> shape, const Init& init, Layout layout, bool trainable) {
  Parameter p;
  p.name = std::move(name);
  p.shape = p.file_shape = std::move(shape);
  p.layout = layout;
  p.trainable = trainable;
  p.count = product(p.shape);
  p.value = at::empty(p.shape, at::kFloat);
  init(p.value.data_ptr<float>(), p.count, random_bits(seed_, Purpose::kInit, name_key(p.name)));
  parameters_.push_back(std::move(p));
  return &parameters_.back();
}

Parameter* ParameterStore::add_buffer(std::string name, std::vector<std::int64_t> shape, float value) {
  Parameter* p = add(std::move(name), std::move(shape), constant(value), Layout::kPlain, false);
  p->buffer = true;
  return p;
}

void ParameterStore::finalise(const at::Device& device) {
  for (auto p = parameters_.rbegin(); p != parameters_.rend(); ++p) {
    if (!p->trainable) continue;
    p->offset = trainable_count_;
    // Ranges start on a cache line, so that vector kernels and slices of the all-reduce are aligned.
    trainable_count_ += (p->count + 15) / 16 * 16;
    trainable_.push_back(&*p);
  }
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  flat_values_ = at::zeros({trainable_count_}, options);
  flat_gradients_ = at::zeros({trainable_count_}, options);
  for (Parameter& p : parameters_) {
    const at::Tensor initial = p.value;
    if (p.trainable) {
      p.value = view_of(flat_values_, p).detach();
      p.value.copy_(initial);
      p.value.requires_grad_(true);
      p.value.mutable_grad() = view_of(flat_gradients_, p);
    } else if (p.layout == Layout::kChannelsLast) {
      p.value = initial.to(device).contiguous(at::MemoryFormat::ChannelsLast);
    } else {
      p.value = initial.to(device);
    }
  }
}

at::Tensor ParameterStore::view_of(const at::Tensor& flat, const Parameter& p) {
  at::Tensor chunk = flat.narrow(0, p.offset, p.count);
  if (p.layout == Layout::kPlain) return chunk.view(p.shape);
  return chunk.view({p.shape[0], p.shape[2], p.shape[3], p.shape[1]}).permute({0, 3, 1, 2});
}

at::Tensor ParameterStore::to_file(const Parameter& p) const {
  return p.value.detach().to(at::kCPU).contiguous().clone().view(p.file_shape);
}

at::Tensor ParameterStore::gradient_to_file(const Parameter& p) const {
  return p.value.grad().detach().to(at::kCPU).contiguous().clone().view(p.file_shape);
}

void ParameterStore::from_file(Parameter& p, const at::Tensor& values, const std::string& source) {
  if (values.sizes() != at::IntArrayRef(p.file_shape))
    throw DataError("Weights '" + source + "': '" + p.name + "' has shape " + shape_text(values.sizes()) +
                    ", the model needs " + shape_text(p.file_shape) +
                    ". Use weights of the same architecture, or change the recipe's model.* keys.");
  p.value.detach().copy_(values.view(p.shape));
}

}  // namespace ttt::model
