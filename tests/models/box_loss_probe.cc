// box_loss_probe INPUT OUTPUT: the losses of boxes, and their gradients, of rows given by another program;
// tests/models/box_losses.py is that program.
//
// INPUT: "deltas", "reference", "target" [R, 4] float32, "coder_weights" [4].
// OUTPUT: for each kind its loss of each row, "KIND" [R], and "KIND.gradient" [R, 4] of their sum by the deltas.
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include <cstdio>

#include "models/mask_rcnn/box_losses/box_loss.h"
#include "tests/models/tensors_file.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: box_loss_probe INPUT OUTPUT\n"), 2;
  using namespace ttt;
  const test::Tensors in = test::read(argv[1]);
  const at::Tensor w = in.at("coder_weights");
  const auto weight = [&](int i) { return w[i].item<float>(); };
  const kernels::BoxCoderParams coder{.wx = weight(0), .wy = weight(1), .ww = weight(2), .wh = weight(3)};
  test::Tensors out;
  for (const char* kind : {"giou", "diou", "ciou"}) {
    const at::Tensor deltas = in.at("deltas").clone().requires_grad_();
    const auto rows = [&](std::int64_t begin, std::int64_t count) {
      return model::BoxRows{.deltas = deltas.narrow(0, begin, count),
          .target_deltas = {},
          .reference = in.at("reference").narrow(0, begin, count),
          .target = in.at("target").narrow(0, begin, count),
          .weight = at::ones({count}),
          .coder = coder};
    };
    model::box_loss_sum(kind, 1, rows(0, deltas.size(0))).backward();
    out[std::string(kind) + ".gradient"] = deltas.grad();
    std::vector<at::Tensor> each;
    for (std::int64_t i = 0; i < deltas.size(0); ++i) each.push_back(model::box_loss_sum(kind, 1, rows(i, 1)).detach());
    out[kind] = at::stack(each);
  }
  test::write(argv[2], out);
}
