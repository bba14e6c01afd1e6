// Which category has the first object of an image? One convolution, its mean over the image, and the share of right
// answers.
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>

#include "data/loader.h"
#include "eval/workload.h"

namespace ttt::first_object {

struct Settings {
  std::int64_t classes = 0;
  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("classes", s.classes, "categories and none; 0: the data set's", between(0, 10000));
  }
};

struct Targets {
  double target_top1 = 0.5;
  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("target_top1", s.target_top1, "share of right answers that ends the run", between(0, 1));
  }
};

class OneConvolution final : public model::Model {
 public:
  OneConvolution(std::int64_t classes, std::uint64_t seed, const at::Device& device)
      : store_(seed), weight_(store_.add("conv.weight", {classes, 3, 3, 3}, model::normal(0.1))),
        bias_(store_.add("conv.bias", {classes}, model::constant(0))) {
    store_.finalise(device);
  }
  at::Tensor logits(const at::Tensor& images) const {
    return at::conv2d(images, weight_->value, bias_->value, /*stride=*/4).mean({2, 3});
  }
  model::ParameterStore& parameters() override { return store_; }
  const std::vector<std::string>& loss_names() const override { return names_; }
  std::vector<model::Section> sections() const override {
    return {{"all", [this](const std::vector<at::Tensor>&, const model::DeviceBatch& batch) {
               const at::Tensor label = batch.gt_label.select(1, 0).to(at::kLong);
               return std::vector<at::Tensor>{at::cross_entropy_loss(logits(batch.images), label)};
             }}};
  }
  result::Json describe() const override { return {{"network", "one convolution"}}; }

 private:
  const std::vector<std::string> names_ = {"cross_entropy"};
  model::ParameterStore store_;
  model::Parameter *weight_, *bias_;
};

class Top1 final : public eval::Evaluator {
 public:
  explicit Top1(const eval::EvaluationInputs& in) : in_(in), model_(dynamic_cast<OneConvolution&>(in.model)) {}
  void start() override {
    const at::NoGradGuard no_grad;
    comm::Communicator& comm = in_.comm;
    data::Loader loader(in_.images, in_.data,
        std::make_shared<data::EvalOrder>(in_.images, in_.data,
            data::OrderSettings{.global_batch = in_.batch * comm.size(), .rank = comm.rank(), .ranks = comm.size()}));
    double counts[2] = {0, 0};  // right answers, images
    while (const data::HostBatch* host = loader.next()) {
      const model::DeviceBatch batch = model::view_of(*host);
      const at::Tensor filled = batch.image_id >= 0;
      const at::Tensor right = model_.logits(batch.images).argmax(1) == batch.gt_label.select(1, 0);
      counts[0] += (right & filled).sum().item<double>(), counts[1] += filled.sum().item<double>();
    }
    comm.all_reduce_sum(counts, 2);
    share_ = counts[0] / counts[1];
  }
  bool scored() const override { return true; }
  result::Metrics finish() override { return {{"top1", share_}}; }
  std::int64_t images() const override { return in_.images.size(); }

 private:
  eval::EvaluationInputs in_;
  const OneConvolution& model_;
  double share_ = 0;
};

class FirstObject final : public eval::Workload {
 public:
  result::AnyGroup settings() const override { return Settings(); }
  result::AnyGroup targets() const override { return Targets(); }
  result::Metrics target(const result::AnyGroup& t) const override { return {{"top1", t.as<Targets>().target_top1}}; }
  std::string precision(const result::AnyGroup&) const override { return "fp32"; }
  void check(const result::AnyGroup&, const data::DataSettings&, const std::string&) const override {}
  void resolve(result::AnyGroup& settings, const data::ShardSet& images) const override {
    settings.as<Settings>().classes = static_cast<std::int64_t>(images.categories().size()) + 1;
  }
  std::unique_ptr<model::Model> make_model(eval::ModelInputs in) const override {
    return std::make_unique<OneConvolution>(in.settings.as<Settings>().classes, in.seed, in.device);
  }
  std::unique_ptr<eval::Evaluator> make_evaluator(const eval::EvaluationInputs& in) const override {
    return std::make_unique<Top1>(in);
  }
};

}  // namespace ttt::first_object
