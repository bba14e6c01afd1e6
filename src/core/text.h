// Small texts: names in messages, hashes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/sha256.h"

namespace ttt::result {

// 'path', as every message writes a file's name. (append: gcc 12 warns falsely of an overlap in "'" + rvalue.)
inline std::string quote(const std::filesystem::path& path) {
  return std::string("'").append(path.string()).append("'");
}

// SHA-256 of a text that is at hand: 64 lower-case digits.
inline std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace ttt::result
