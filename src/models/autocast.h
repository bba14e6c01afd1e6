// Mixed precision by torch's autocast (Micikevicius et al. 2018): while one lives, the calling thread's convolutions
// and matrix products read and give bfloat16 or float16; parameters stay float32, sums and losses are taken in float32.
// Backward follows what forward did.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace ttt::model {

class Autocast {
 public:
  // `precision`: ModelConfig's. fp32 and tf32 change nothing here.
  Autocast(const at::Device& device, const std::string& precision);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool on_, was_on_ = false, cached_ = false;
  at::ScalarType dtype_ = at::kFloat;
};

}  // namespace ttt::model
