// Small texts: names and numbers in messages, hashes.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/sha256.h"

namespace ttt::result {

// 'path', as every message writes a file's name. (append: gcc 12 warns falsely of an overlap in "'" + rvalue.)
inline std::string quote(const std::filesystem::path& path) {
  return std::string("'").append(path.string()).append("'");
}

// As printf writes it, of any length.
template <class... Args> std::string fixed(const char* pattern, Args... args) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, pattern, args...)), '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, args...);
  return text;
}

template <class Texts> std::string joined(const Texts& texts, const char* separator = ", ") {
  std::string all;
  const char* between = "";
  for (const std::string& text : texts) all.append(between).append(text), between = separator;
  return all;
}

// "1 build", "2 builds"
template <class Integer> std::string counted(Integer n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

// SHA-256 of a text that is at hand: 64 lower-case digits.
inline std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace ttt::result
