// SHA-256 (FIPS 180-4), in pieces, so that a file of gigabytes is hashed without holding it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ttt {

class Sha256 {
 public:
  void update(std::string_view bytes);
  std::string hex();  // 64 lower-case digits; nothing may be added afterwards

 private:
  std::array<std::uint32_t, 8> state_ = {
      0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t total_ = 0;
};

// Throws UsageError where the file cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace ttt
