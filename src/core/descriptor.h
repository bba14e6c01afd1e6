// An open file that closes itself.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace ttt {

class Descriptor {
 public:
  Descriptor() = default;
  // get() is -1, and errno says why, where the file cannot be opened. Files that are made get the mode 0644.
  Descriptor(const std::string& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  int get() const { return value_; }

 private:
  int value_ = -1;
};

}  // namespace ttt
