// Keys of the convolutions on the fake device. ATen/native/cudnn/Conv_v8.cpp keeps a plan for each key, and where cuDNN
// tunes, a new one is a search.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>

namespace ttt::test {

// Since the last reset, gradients included: pass, shapes, strides, types, and addresses modulo 32 bytes.
std::set<std::string> convolution_keys();
void reset_convolution_keys();

void note_convolution(const std::string& pass, std::initializer_list<at::Tensor> tensors, c10::IntArrayRef stride,
    c10::IntArrayRef padding, c10::IntArrayRef dilation, std::int64_t groups);

}  // namespace ttt::test
