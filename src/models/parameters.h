// The model's parameters and buffers: named tensors in one flat allocation, gradients in a second one of the same layout.
//
// Order in memory is the reverse of registration: about the order in which backward produces gradients, so that a bucket of
// the all-reduce is one contiguous range that fills from its front. Names are torchvision's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace ttt::model {

// How a tensor lies in memory. kChannelsLast: logical [O, I, h, w] (or [I, O, 2, 2]), physical [O, h, w, I].
enum class Layout { kPlain, kChannelsLast };

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  // Shape under which the tensor is stored in files, where that differs (a linear layer over pooled features is kept as
  // [O, C, 7, 7] and stored as [O, C * 49]); same element order as `shape`, contiguous.
  std::vector<std::int64_t> file_shape;
  Layout layout = Layout::kPlain;
  bool trainable = true;
  bool buffer = false;             // running statistics, frozen scales: never has a gradient
  std::int64_t offset = 0;         // elements into the flat allocation (trainable ones)
  std::int64_t count = 0;
  at::Tensor value;                // a leaf; a view into the flat allocation where trainable
};

using Init = std::function<void(float* values, std::int64_t count, std::uint64_t key)>;

// Initialisers: `values` is filled in file order. Sources: He et al. 2015 (kaiming), as torch.nn.init computes the bounds.
Init constant(float value);
Init normal(double std);
Init uniform(double bound);
double kaiming_normal_std(std::int64_t fan);               // gain sqrt(2) (ReLU)
double kaiming_uniform_bound(std::int64_t fan, double a);  // gain sqrt(2 / (1 + a^2))

class ParameterStore {
 public:
  explicit ParameterStore(std::uint64_t seed) : seed_(seed) {}
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  Parameter* add(std::string name, std::vector<std::int64_t> shape, const Init& init, Layout layout = Layout::kPlain,
                 bool trainable = true);
  Parameter* add_buffer(std::string name, std::vector<std::int64_t> shape, float value);

  // After the last add: moves all trainable parameters into the flat allocation on `device` and makes their gradients
  // views of the flat gradient.
  void finalise(const at::Device& device);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  // Trainable parameters in memory order.
  const std::vector<Parameter*>& trainable() const { return trainable_; }
  at::Tensor& flat_values() { return flat_values_; }        // [T] float32
  const at::Tensor& flat_values() const { return flat_values_; }
  at::Tensor& flat_gradients() { return flat_gradients_; }  // [T] float32
  std::int64_t trainable_count() const { return trainable_count_; }

  // What `p` is of a flat array in the parameters' layout (gradients, momentum): a view with p's shape.
  static at::Tensor view_of(const at::Tensor& flat, const Parameter& p);

  // Contiguous copies on the CPU in file order and shape, for weights files and comparisons.
  at::Tensor to_file(const Parameter& p) const;
  at::Tensor gradient_to_file(const Parameter& p) const;
  // Throws DataError where the shape differs; `source` says where the values come from.
  void from_file(Parameter& p, const at::Tensor& values, const std::string& source);

 private:
  std::uint64_t seed_;
  std::deque<Parameter> parameters_;
  std::vector<Parameter*> trainable_;
  at::Tensor flat_values_, flat_gradients_;
  std::int64_t trainable_count_ = 0;
};

}  // namespace ttt::model
