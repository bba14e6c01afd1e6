// Memory of the emulated device: places of buffers, and each granule's last accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace emulation {

// Bytes between guards: a faulting page on either side, and filler up to it that is checked at the end. The bytes end
// as close to the page behind them as an alignment of 16 allows.
class DeviceBytes {
 public:
  enum class Kind {
    kInput,     // kernels only read it
    kOutput,    // a byte that no kernel has written must not be read
    kInOut,     // holds values from the beginning
    kScratch,   // as kOutput; nothing in it lives longer than the call
    kShared,    // dynamic shared memory: as kOutput, in each block anew
  };
  // granule: resolution of the shadow [byte]; different threads must not own different parts of one granule.
  DeviceBytes(std::size_t size, Kind kind, unsigned granule, std::string name);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  unsigned char* data() { return begin_; }
  const unsigned char* data() const { return begin_; }
  std::size_t size() const { return size_; }
  bool guards_intact() const;
  // Called after the host has filled an input: later writes fault.
  void seal();

 private:
  std::size_t size_, mapped_;
  unsigned char *pages_, *begin_;
};

// Static shared memory, from the linker's section.
void shadow_static_shared(unsigned char* begin, unsigned char* end);
void shadow_atomic(const void* address, std::size_t size);
// cudaMemsetAsync: marks every byte as written.
void memset_device(void* p, int value, std::size_t bytes);

}  // namespace emulation
