// The least that a training step asks of a machine, and the least time in which published machines could do it:
// step_cost
//
// Two steps are taken on this CPU, of one image and of two, with fixed shapes, so that both have the same operators.
// Each operator's flops and bytes are then a + b x images, for any number of images. A machine's bound is the sum over
// operators of the longer of flops / peak and bytes / bandwidth. Operators run one after the other, each as fast as the
// machine's numbers allow. A second bound leaves out the operators that a compiler or a library can melt into the
// convolution, matrix product or kernel beside them.
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <cstdio>

#include "app/app.h"
#include "app/progress.h"
#include "comm/world.h"
#include "core/error.h"
#include "data/collate.h"
#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "measure/op_costs.h"
#include "run/assemble.h"
#include "run/launch.h"
#include "train/optimizers/optimizer.h"
#include "train/step.h"

namespace {

using namespace ttt;
using roofline::OpCost;

// Dense bf16 rate with float32 sums, and memory bandwidth, from NVIDIA's data sheets (SXM modules).
struct Machine {
  const char* name;
  double flop_per_s, bytes_per_s;
};
constexpr Machine kMachines[] = {
    {"A100 80 GB", 312e12, 2.039e12}, {"H100", 989.4e12, 3.35e12}, {"H200", 989.4e12, 4.8e12}};
constexpr std::int64_t kImages[] = {1, 2, 4, 12, 24};

// Images of the recipe's padded size (landscape), each with eight objects of twelve corners: what objects cost is next
// to nothing.
model::DeviceBatch batch_of(const train::Recipe& recipe, std::int64_t images) {
  const std::int64_t n = images, g = 8;
  const data::Size landscape{
      static_cast<std::int32_t>(recipe.data.short_side), static_cast<std::int32_t>(recipe.data.long_side)};
  const data::Size padded = data::padded_size(recipe.data, {landscape});
  const std::int64_t h = padded.height, w = padded.width;
  const auto ints = at::TensorOptions(at::kInt);
  const at::Tensor object = at::arange(g, at::kFloat), corner = object * 30;
  const at::Tensor box =
      at::stack({corner, corner, corner + 64 + object, corner + 80}, 1).expand({n, g, 4}).contiguous();
  const at::Tensor xs = at::stack({box.select(2, 0), box.select(2, 2), box.select(2, 2), box.select(2, 0)}, 2),
                   ys = at::stack({box.select(2, 1), box.select(2, 1), box.select(2, 3), box.select(2, 3)}, 2);
  const at::Tensor whole = box.to(at::kInt);
  const at::Tensor sides =
      at::stack({whole.select(2, 2) - whole.select(2, 0), whole.select(2, 3) - whole.select(2, 1)}, 2);
  const at::Tensor area = (sides.select(2, 0) * sides.select(2, 1)).flatten().to(at::kLong);
  return {.images = at::rand({n, h, w, 3}).permute({0, 3, 1, 2}),
      .image_size = at::tensor({h, w}, at::kLong).to(at::kInt).expand({n, 2}).contiguous(),
      .image_id = at::arange(1, n + 1, at::kLong),
      .gt_box = box,
      .gt_label = at::ones({n, g}, ints),
      .gt_count = at::full({n}, g, ints),
      .masks = {.object_polygon = at::arange(n * g + 1, ints),
          .polygon_vertex = at::arange(n * g + 1, ints) * 4,
          .vertices = at::stack({xs, ys}, 3).view({-1, 2}).contiguous(),
          .bitmap_box = at::cat({whole.narrow(2, 0, 2), sides}, 2).view({-1, 4}).contiguous(),
          .bitmap_offset = area.cumsum(0) - area,
          .bitmap_bytes = at::ones({area.sum().item<std::int64_t>()}, at::kByte)}};
}

// The operators of the second step: the first makes what later ones find.
std::vector<OpCost> costs_of(
    const train::Recipe& recipe, std::int64_t images, const std::shared_ptr<ThreadPool>& pool) {
  model::MaskRcnn net(recipe.model.as<model::ModelConfig>(), model::host_ops(pool),
      static_cast<std::uint64_t>(recipe.seed), at::kCPU, nullptr);
  const auto optimizer = train::make_optimizer(recipe.train.optimizer, {.store = net.parameters()});
  train::EagerStep step(net);
  result::PhaseClock clock;
  model::DeviceBatch batch = batch_of(recipe, images);
  batch.draw = model::draw_key(1, 0);
  step.forward_backward(batch, clock);
  const roofline::OpCosts costs;
  batch.draw = model::draw_key(1, 1);
  step.forward_backward(batch, clock);
  optimizer->step(train::rates_on_host(0.01, 1));
  return costs.all();
}

struct Line {  // a + b * images
  double a = 0, b = 0;
  double at(double images) const { return a + b * images; }
};
Line line(std::int64_t one, std::int64_t two) {
  return {.a = static_cast<double>(2 * one - two), .b = static_cast<double>(two - one)};
}

struct Operator {
  std::string name;
  bool matrix, own;
  Line flops, float_bytes, other_bytes;
  // The optimiser's numbers stay float32.
  double bytes(double images, bool mixed) const {
    return float_bytes.at(images) * (mixed && name != "ttt::optimizer" ? 0.5 : 1) + other_bytes.at(images);
  }
};

Operator join(const OpCost& one, const OpCost& two) {
  return {.name = two.name,
      .matrix = two.matrix(),
      .own = two.own(),
      .flops = line(one.flops, two.flops),
      .float_bytes = line(one.float_bytes, two.float_bytes),
      .other_bytes = line(one.other_bytes, two.other_bytes)};
}

// The step of two images has every operator of the step of one, in its order, and a few copies beside: of what one
// image has in one piece already.
std::vector<Operator> fit(const std::vector<OpCost>& one, const std::vector<OpCost>& two) {
  std::vector<Operator> all;
  std::size_t i = 0;
  for (const OpCost& cost : two) {
    const bool in_both = i < one.size() && one[i].name == cost.name;
    all.push_back(join(in_both ? one[i] : OpCost{}, cost));
    i += in_both;
  }
  if (i < one.size() || two.size() > one.size() + one.size() / 20)
    throw Error("The step of two images (" + std::to_string(two.size()) + " operators) is not that of one (" +
                std::to_string(one.size()) + "), but for more of everything: its shapes are not fixed. This is a bug.");
  return all;
}

// Seconds; `melted`: without the operators that are neither a convolution or matrix product nor a kernel of ours.
double bound(const std::vector<Operator>& operators, const Machine& m, double images, bool melted) {
  double seconds = 0;
  for (const Operator& o : operators)
    if (!melted || o.matrix || o.own)
      seconds += std::max(o.flops.at(images) / m.flop_per_s, o.bytes(images, true) / m.bytes_per_s);
  return seconds;
}

result::Json report(const std::vector<Operator>& operators, const std::string& recipe) {
  Line flops, bytes;
  std::int64_t launches = 0, matrix = 0, own = 0;
  for (const Operator& o : operators) {
    flops.a += o.flops.a, flops.b += o.flops.b;
    bytes.a += o.bytes(0, true), bytes.b += o.bytes(1, true) - o.bytes(0, true);
    ++launches, matrix += o.matrix, own += o.own;
  }
  std::printf(
      "A step of recipe %s: %lld operators (%lld convolutions and matrix products, %lld kernels of the suite), each at "
      "least one launch.\n"
      "%.3f TFLOP and %.2f GB for each image, and %.3f TFLOP and %.2f GB for each step; bf16 but for the "
      "optimiser.\n\n",
      recipe.c_str(), static_cast<long long>(launches), static_cast<long long>(matrix), static_cast<long long>(own),
      flops.b / 1e12, bytes.b / 1e9, flops.a / 1e12, bytes.a / 1e9);
  std::printf("%-12s %6s  %23s  %23s\n", "", "", "unfused", "fused");
  std::printf("%-12s %6s  %9s %13s  %9s %13s\n", "machine", "images", "ms (min)", "images/s (max)", "ms (min)",
      "images/s (max)");
  result::Json bounds = result::Json::array();
  for (const Machine& m : kMachines)
    for (const std::int64_t images : kImages) {
      const auto n = static_cast<double>(images);
      const double single = bound(operators, m, n, false), melted = bound(operators, m, n, true);
      std::printf("%-12s %6lld  %9.2f %13.0f  %9.2f %13.0f\n", m.name, static_cast<long long>(images), 1e3 * single,
          n / single, 1e3 * melted, n / melted);
      bounds.push_back({{"machine", m.name}, {"flop_per_s", m.flop_per_s}, {"bytes_per_s", m.bytes_per_s},
          {"images", images}, {"step_s", single}, {"melted_step_s", melted}});
    }
  return {{"operators", launches}, {"matrix_operators", matrix}, {"own_kernels", own}, {"image_flops", flops.b},
      {"step_flops", flops.a}, {"image_bytes", bytes.b}, {"step_bytes", bytes.a}, {"bounds", bounds}};
}

harness::Outcome run(train::Recipe recipe, harness::RunContext& context, const comm::World& world) {
  if (recipe.model.as<model::ModelConfig>().shapes != "static")
    throw UsageError("model.shapes = \"" + recipe.model.as<model::ModelConfig>().shapes +
                     "\": the number of positives would decide what a step costs. Set model.shapes=static; half of "
                     "model.roi.sample_positive counts a step whose positives fill half of the mask branch's rows.");
  if (recipe.model.as<model::ModelConfig>().backbone.norm == "sync")
    throw UsageError(
        "model.backbone.norm = \"sync\": the cost is that of one device alone. Set model.backbone.norm=batch.");
  if (recipe.model.as<model::ModelConfig>().classes == 0) recipe.model.as<model::ModelConfig>().classes = 81;  // COCO's
  const int threads = threads_of_rank(recipe.train.threads, world.team());
  at::set_num_threads(threads);
  const auto pool = std::make_shared<ThreadPool>(threads);
  context.announce("steps of 1 and 2 images of " + std::to_string(recipe.data.short_side) + " x " +
                   std::to_string(recipe.data.long_side) + " pixels");
  harness::StatusLine line({.enabled = world.rank() == 0 && !context.options.quiet});
  const auto costs = [&](std::int64_t images) {
    line.show("taking two steps of " + std::to_string(images) + (images > 1 ? " images ..." : " image ..."), true);
    return costs_of(recipe, images, pool);
  };
  context.clock.start_run();
  const std::vector<OpCost> one = costs(1), two = costs(2);
  const std::vector<Operator> operators = fit(one, two);
  context.clock.end_run();
  line.finish();
  const result::Json cost = report(operators, context.recorder.snapshot().recipe.name);
  context.recorder.update([&](result::RunRecord& r) { r.built = {{"step_cost", cost}}; });
  return {.verdict = result::Verdict::kPassed,
      .reason = "the least that a step costs, for " + std::to_string(std::size(kMachines)) + " machines",
      .figures = {{"operators", cost.at("operators"), "operators"},
          {"image_flops", cost.at("image_flops").get<double>() / 1e12, "Tflop"},
          {"image_bytes", cost.at("image_bytes").get<double>() / 1e9, "GB"}}};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = "step_cost",
      .summary =
          "Counts what a training step asks of a machine, and the least time in which an "
          "A100, H100 and H200 could do it.",
      .kind = "roofline",
      .defaults = train::Recipe(eval::mask_rcnn()),
      .recipes = embedded_recipes(),
      .recipe = "mlperf",
      .libraries = library_versions(world)};
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) { return run(recipe, context, world); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
