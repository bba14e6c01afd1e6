// The losses of Mask R-CNN. Each is a sum over samples and a count, so that the mean can be taken over one rank or all.
//
// They use ATen's operators, as torchvision does, and no kernels of kernels/. They read some thousand rows, for masks
// at most 128 x 28 x 28 numbers an image, so bandwidth is negligible. A captured step pays nothing for launches. ATen
// fuses log-softmax and its gradient, sums in a fixed order on a GPU, and keeps counts on the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace ttt::model {

// In the order of MaskRcnn::training_losses(); torchvision's names begin with loss_.
inline const std::vector<std::string> kLossNames = {"objectness", "rpn_box_reg", "classifier", "box_reg", "mask"};

// How many samples the sums below run over; shared over ranks where ModelConfig::loss_mean = global.
using ShareCount = std::function<at::Tensor(const at::Tensor& count)>;

// All sums; `weight` is 0 or 1 for each row, so that fillers do not count. Smoothed by s, a target is (1 - s) of itself
// and s of all classes alike (Szegedy et al. 2016); objectness has two.
at::Tensor bce_sum(
    const at::Tensor& logits, const at::Tensor& target, const at::Tensor& weight, double label_smoothing = 0);
// label -100: not counted
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& label, double label_smoothing = 0);

}  // namespace ttt::model
