// An output array between guard words: a kernel that writes outside its output, or not all of it, is noticed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ttt::kernels {

template <class T> class Guarded {
 public:
  explicit Guarded(std::int64_t n) : n_(n), bytes_((n + 2 * kGuard) * sizeof(T), kFiller) {}
  ~Guarded() {
    for (std::size_t i = 0; i < kGuard * sizeof(T); ++i) {
      EXPECT_EQ(bytes_[i], kFiller) << "written before the output";
      EXPECT_EQ(bytes_[bytes_.size() - 1 - i], kFiller) << "written behind the output";
    }
  }
  T* get() { return reinterpret_cast<T*>(bytes_.data()) + kGuard; }
  T& operator[](std::int64_t i) { return get()[i]; }
  std::int64_t size() const { return n_; }
  bool same(Guarded& other) { return n_ == other.n_ && std::memcmp(get(), other.get(), n_ * sizeof(T)) == 0; }

 private:
  static constexpr std::int64_t kGuard = 64;
  static constexpr unsigned char kFiller = 0xC5;  // as a float: -6.3e3; no output holds it by chance
  std::int64_t n_;
  std::vector<unsigned char> bytes_;
};

}  // namespace ttt::kernels
