// ActivityLog by CUPTI's activity records (CUPTI documentation, "Activity API"). The device notes begin and end of each
// kernel, and CUPTI hands the notes over in buffers, on a thread of its own.
#include <cupti.h>

#include <cstdlib>
#include <mutex>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "cuda/exports.h"

namespace ttt::cuda {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20, kAlignment = 8;
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

void check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = "unknown";
  cuptiGetResultString(result, &text);
  throw NotSupported(std::string("CUPTI cannot say what runs on the GPU (") + what + ": " + text +
                     "). Run without another profiler, or with train.profile_steps = 0.");
}

// What CUPTI calls has no argument for an object, so there is one for the process.
class CuptiActivityLog final : public ActivityLog {
 public:
  void start() override {
    {
      const std::lock_guard lock(mutex_);
      recorded_ = {};
    }
    if (!registered_) check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
    registered_ = true;
    for (const CUpti_ActivityKind kind : kKinds) check(cuptiActivityEnable(kind), "cuptiActivityEnable");
  }

  Recorded stop() override {
    check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
    for (const CUpti_ActivityKind kind : kKinds) check(cuptiActivityDisable(kind), "cuptiActivityDisable");
    const std::lock_guard lock(mutex_);
    return std::move(recorded_);
  }

  void add(const CUpti_Activity& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& k = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
        recorded_.activities.push_back({k.name, true, k.start, k.end});
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto& c = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
        recorded_.activities.push_back({"copy", false, c.start, c.end});
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        const auto& s = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
        recorded_.activities.push_back({"fill", false, s.start, s.end});
        break;
      }
      default: break;
    }
  }

 private:
  static void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  static void CUPTIAPI take_buffer(
      CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size, std::size_t valid);

  bool registered_ = false;
  std::mutex mutex_;  // of recorded_
  Recorded recorded_;
};

CuptiActivityLog& the_log() {
  static CuptiActivityLog log;
  return log;
}

void CuptiActivityLog::give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as fit
}

void CuptiActivityLog::take_buffer(
    CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CuptiActivityLog& log = the_log();
  const std::lock_guard lock(log.mutex_);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) log.add(*record);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
    log.recorded_.lost += static_cast<std::int64_t>(dropped);
  std::free(buffer);
}

}  // namespace
}  // namespace ttt::cuda

extern "C" ttt::cuda::ActivityLog* ttt_cuda_activity_log() { return &ttt::cuda::the_log(); }

static_assert(std::is_same_v<decltype(ttt_cuda_activity_log), ttt::cuda::ActivityLogFunction>);
