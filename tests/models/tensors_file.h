// Dictionaries of tensors in files that torch.save and torch.load know.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace ttt::test {

// A missing file reads as no bytes, which is no dictionary: torch throws.
using Tensors = std::map<std::string, at::Tensor>;

inline Tensors read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  Tensors out;
  for (const auto& item : torch::jit::pickle_load(bytes).toGenericDict())
    out[item.key().toStringRef()] = item.value().toTensor();
  return out;
}

inline void write(const char* path, const Tensors& tensors) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& [name, value] : tensors) dict.insert(name, value.to(at::kCPU).contiguous());
  const std::vector<char> bytes = torch::jit::pickle_save(dict);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace ttt::test
