#include "models/autocast.h"

#include <ATen/autocast_mode.h>

namespace ttt::model {

Autocast::Autocast(const at::Device& device, const std::string& precision)
    : device_(device.type()), on_(precision == "bf16" || precision == "fp16") {
  if (!on_) return;
  was_on_ = at::autocast::is_autocast_enabled(device_);
  dtype_ = at::autocast::get_autocast_dtype(device_);
  cached_ = at::autocast::is_autocast_cache_enabled();
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, precision == "bf16" ? at::kBFloat16 : at::kHalf);
  // A copy that was kept while a step was recorded would be read by steps that are not, with the values of another.
  at::autocast::set_autocast_cache_enabled(false);
}

Autocast::~Autocast() {
  if (!on_) return;
  at::autocast::set_autocast_cache_enabled(cached_);
  at::autocast::set_autocast_dtype(device_, dtype_);
  at::autocast::set_autocast_enabled(device_, was_on_);
}

}  // namespace ttt::model
