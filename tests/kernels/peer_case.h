// Files that peer.py writes: named arrays, each a line "name type dims..." and its bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttt::kernels {

struct PeerArray {
  char type = 0;  // f float32, i int32, l int64, b uint8, u uint64
  std::vector<std::int64_t> dims;
  std::vector<char> bytes;
};

class PeerCase {
 public:
  explicit PeerCase(const std::filesystem::path& path) : name(path.stem().string()) {
    std::ifstream in(path, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string key;
      PeerArray a;
      words >> key >> a.type;
      for (std::int64_t d; words >> d;) a.dims.push_back(d);
      const std::int64_t n = std::accumulate(a.dims.begin(), a.dims.end(), std::int64_t{1}, std::multiplies<>());
      a.bytes.resize(n * width(a.type));
      in.read(a.bytes.data(), static_cast<std::streamsize>(a.bytes.size()));
      if (!in) throw std::runtime_error(path.string() + " is truncated");
      arrays_[key] = std::move(a);
    }
  }

  template <class T>
  const T* data(const std::string& key) const {
    const PeerArray& a = get(key);
    if (width(a.type) != sizeof(T)) throw std::runtime_error(name + ": " + key + " has another type");
    return reinterpret_cast<const T*>(a.bytes.data());
  }
  const float* f(const std::string& key) const { return data<float>(key); }
  const std::int32_t* i(const std::string& key) const { return data<std::int32_t>(key); }
  const std::vector<std::int64_t>& dims(const std::string& key) const { return get(key).dims; }
  std::int64_t numel(const std::string& key) const {
    const auto& d = dims(key);
    return std::accumulate(d.begin(), d.end(), std::int64_t{1}, std::multiplies<>());
  }

  std::string name;

 private:
  static std::size_t width(char type) { return type == 'b' ? 1 : (type == 'l' || type == 'u' ? 8 : 4); }
  const PeerArray& get(const std::string& key) const {
    const auto found = arrays_.find(key);
    if (found == arrays_.end()) throw std::runtime_error(name + " has no array " + key);
    return found->second;
  }
  std::map<std::string, PeerArray> arrays_;
};

}  // namespace ttt::kernels
