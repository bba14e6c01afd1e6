// CRC-32C of a record. Peers: ISA-L's, and the table that a CPU without the instruction runs.
// links: ttt_data PkgConfig::isal
#include <isa-l/crc.h>

#include "bench.h"
#include "input_image.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::size_t bytes;
};
// an index, a photograph, beyond a core's cache
constexpr Shape kShapes[] = {{"4KiB", 4 << 10}, {"192KiB", 192 << 10}, {"4MiB", 4 << 20}};

struct Case {
  explicit Case(const Shape& s) : bytes(s.bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(mix64(i));
  }
  void ours() { benchmark::DoNotOptimize(sum[0] = crc32c(bytes.data(), bytes.size())); }
  void portable() { benchmark::DoNotOptimize(sum[1] = crc32c_portable(bytes.data(), bytes.size())); }
  // ISA-L leaves the two complements to the caller.
  void isal() { benchmark::DoNotOptimize(sum[2] = ~crc32_iscsi(bytes.data(), static_cast<int>(bytes.size()), ~0u)); }
  std::string disagreement() {
    ours(), portable(), isal();
    return sum[0] == sum[1] && sum[0] == sum[2] ? ""
                                                : words("crc32c: %08x, table %08x, ISA-L %08x", sum[0], sum[1], sum[2]);
  }
  std::string label() const { return words("%zu bytes", bytes.size()); }
  double items() const { return static_cast<double>(bytes.size()); }
  static constexpr const char* kItems = "bytes/s";
  std::vector<std::uint8_t> bytes;
  std::uint32_t sum[3] = {};
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("crc32c", s, "ours", &Case::ours);
    add<Case>("crc32c", s, "isal", &Case::isal);
    add<Case>("crc32c", s, "table", &Case::portable);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
