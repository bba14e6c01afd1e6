// Runs the model on a batch and weights given by another program and writes what it computed; tests/models/parity.py is
// that program.
//
//   model_probe INPUT WEIGHTS.h5 OUTPUT TRAINED.h5 [cpu|cuda]
//
// Weights, before and after, travel in the files of models/weights.h; INPUT and OUTPUT are dictionaries of tensors as
// torch.save and torch.load know them.
// INPUT: "config.<key>" numbers of the model (see Configure), "steps", "lr", and the tensors of model::DeviceBatch.
// "loss_scale" multiplies the loss in backward; gradients are those without it.
// OUTPUT: losses of each step, the gradients and chosen samples of the first, predictions.
#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <cstdio>
#include <map>

#include "core/error.h"
#include "models/mask_rcnn/mask_rcnn.h"
#include "models/weights.h"
#include "run/accelerator.h"
#include "tests/models/tensors_file.h"
#include "train/optimizers/sgd.h"
#include "train/step.h"

namespace {

using ttt::test::Tensors;

// Sets every field of the model's settings for which the input has "config.<path>".
class Configure {
 public:
  explicit Configure(const Tensors& in, std::string prefix = "config.") : in_(in), prefix_(std::move(prefix)) {}
  template <class T> void operator()(const char* name, T& value, const char*, const ttt::Limits& = {}) {
    const std::string key = prefix_ + name;
    if constexpr (ttt::FieldGroup<T>) {
      T::fields(value, Configure(in_, key + "."));
    } else if (const auto found = in_.find(key); found != in_.end()) {
      assign(found->second, value);
    }
  }

 private:
  static void assign(const at::Tensor& t, bool& v) { v = t.item<double>() != 0; }
  static void assign(const at::Tensor& t, std::int64_t& v) { v = t.item<std::int64_t>(); }
  static void assign(const at::Tensor& t, double& v) { v = t.item<double>(); }
  static void assign(const at::Tensor& t, std::string& v) {
    v.assign(reinterpret_cast<const char*>(t.const_data_ptr<std::uint8_t>()), static_cast<std::size_t>(t.numel()));
  }
  template <class T> static void assign(const at::Tensor& t, std::vector<T>& v) {
    const at::Tensor d = t.to(at::kDouble).contiguous();
    v.assign(d.const_data_ptr<double>(), d.const_data_ptr<double>() + d.numel());
  }
  const Tensors& in_;
  std::string prefix_;
};

template <class Placed> ttt::model::DeviceBatch batch_of(const Placed& placed) {
  const ttt::model::Masks masks{.bitmap_box = placed("bitmap_box"),
      .bitmap_offset = placed("bitmap_offset"),
      .bitmap_bytes = placed("bitmap_bytes")};
  return {.images = placed("images").contiguous(at::MemoryFormat::ChannelsLast),
      .image_size = placed("image_size"),
      .image_id = placed("image_id"),
      .gt_box = placed("gt_box"),
      .gt_label = placed("gt_label"),
      .gt_count = placed("gt_count"),
      .masks = masks};
}

int run(const char* input, const char* weights, const char* output, const char* trained, const char* device) {
  const ttt::train::Accelerator place = ttt::train::open_accelerator(device, ttt::comm::alone(), nullptr);
  at::globalContext().setAllowTF32CuDNN(false);  // torch's default is yes
  at::globalContext().setAllowTF32CuBLAS(false);
  const Tensors in = ttt::test::read(input);
  const auto placed = [&](const char* name) { return in.at(name).contiguous().to(place.device); };
  ttt::model::ModelConfig config;
  ttt::model::ModelConfig::fields(config, Configure(in));
  ttt::model::MaskRcnn model(config, place.ops, 1, place.device, nullptr);
  ttt::model::load_weights(weights, model.parameters());
  ttt::model::DeviceBatch batch = batch_of(placed);
  Tensors out;
  const ttt::model::Prediction prediction = model.predict(batch);
  out["detected.boxes"] = prediction.detected.boxes;
  out["detected.score"] = prediction.detected.score;
  out["detected.label"] = prediction.detected.label;
  out["detected.count"] = prediction.detected.count;
  out["detected.masks"] = prediction.masks;

  ttt::train::FusedSgd optimizer(model.parameters(), {.momentum = 0.9, .weight_decay = 1e-4}, place.parameters);
  const double loss_scale = in.at("loss_scale").item<double>();
  ttt::train::Rates rates = ttt::train::rates_on_host(in.at("lr").item<double>(), 1.0);
  rates.tensor = rates.tensor.to(place.device);
  const std::int64_t steps = in.at("steps").item<std::int64_t>();
  std::vector<at::Tensor> losses;
  for (std::int64_t step = 0; step < steps; ++step) {
    ttt::model::TrainingTrace trace;
    batch.draw = ttt::model::draw_key(1, step).to(place.device);
    const std::vector<at::Tensor> l = model.training_losses(batch, &trace);
    std::vector<at::Tensor> row;
    for (const at::Tensor& v : l) row.push_back(v.detach());
    losses.push_back(at::stack(row));
    model.parameters().flat_gradients().zero_();
    (ttt::train::total(l) * loss_scale).backward();
    model.parameters().flat_gradients().div_(loss_scale);
    const std::string s = "step" + std::to_string(step) + ".";
    out[s + "anchor.index"] = trace.anchors.sampled.index;
    out[s + "anchor.positives"] = trace.anchors.sampled.positives;
    out[s + "anchor.total"] = trace.anchors.sampled.total;
    out[s + "roi.boxes"] = trace.rois.rois;
    out[s + "roi.positives"] = trace.rois.positives;
    out[s + "roi.total"] = trace.rois.total;
    if (step == 0)
      for (const ttt::model::Parameter* p : model.parameters().trainable())
        out["grad." + p->name] = model.parameters().gradient_to_file(*p);
    optimizer.step(rates);
  }
  out["losses"] = at::stack(losses);
  ttt::model::save_weights(trained, model.parameters());
  ttt::test::write(output, out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: model_probe INPUT WEIGHTS.h5 OUTPUT TRAINED.h5 [cpu|cuda]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3], argv[4], argc == 6 ? argv[5] : "cpu");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "model_probe: %s\n", e.what());
    return 1;
  }
}
