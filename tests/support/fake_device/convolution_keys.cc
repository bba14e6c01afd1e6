#include "tests/support/fake_device/convolution_keys.h"

#include <mutex>
#include <sstream>

namespace ttt::test {
namespace {

struct Keys {
  std::mutex mutex;
  std::set<std::string> all;
};
Keys& keys() {
  static Keys noted;
  return noted;
}

}  // namespace

void note_convolution(const std::string& pass, std::initializer_list<at::Tensor> tensors, c10::IntArrayRef stride,
    c10::IntArrayRef padding, c10::IntArrayRef dilation, std::int64_t groups) {
  std::ostringstream key;
  key << pass;
  // A CUDA allocation begins at a multiple of 512 bytes.
  for (const at::Tensor& t : tensors)
    key << ' ' << t.sizes() << t.strides() << t.scalar_type() << '+' << t.storage_offset() * t.itemsize() % 32;
  key << " by " << stride << padding << dilation << groups;
  const std::lock_guard lock(keys().mutex);
  keys().all.insert(key.str());
}

std::set<std::string> convolution_keys() {
  const std::lock_guard lock(keys().mutex);
  return keys().all;
}

void reset_convolution_keys() {
  const std::lock_guard lock(keys().mutex);
  keys().all.clear();
}

}  // namespace ttt::test
