// The activity log over CUPTI, with fake functions: what it asks of them, what it makes of their records, and
// what it says where they fail.
#include <cupti.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "cuda/exports.h"
#include "tests/support/message_of.h"

namespace {

struct Fake {
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::vector<CUpti_ActivityKind> enabled;
  std::string failing;  // the function that does not succeed
  std::size_t dropped = 0;
} fake;

CUptiResult outcome(const char* function) {
  return fake.failing == function ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

// A kernel, a copy and a fill, one behind the other, as the buffer that CUPTI was given holds them.
std::size_t fill(std::uint8_t* buffer) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernel.start = 100, kernel.end = 400,
  kernel.name = "_ZN3ttt5matchEPKf";
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY, copy.start = 300, copy.end = 500;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET, set.start = 900, set.end = 1100;
  std::memcpy(buffer, &kernel, sizeof kernel);
  std::memcpy(buffer + sizeof kernel, &copy, sizeof copy);
  std::memcpy(buffer + sizeof kernel + sizeof copy, &set, sizeof set);
  return sizeof kernel + sizeof copy + sizeof set;
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  fake.request = request, fake.complete = complete;
  return outcome("cuptiActivityRegisterCallbacks");
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  fake.enabled.push_back(kind);
  return outcome("cuptiActivityEnable");
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  std::erase(fake.enabled, kind);
  return outcome("cuptiActivityDisable");
}
CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  EXPECT_EQ(flag, static_cast<std::uint32_t>(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  if (const CUptiResult r = outcome("cuptiActivityFlushAll"); r != CUPTI_SUCCESS) return r;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 1;
  fake.request(&buffer, &size, &most);
  EXPECT_TRUE(buffer != nullptr && size > 4096 && most == 0);
  fake.complete(nullptr, 0, buffer, size, fill(buffer));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    const CUpti_ActivityKind kind = (*record)->kind;
    next = reinterpret_cast<std::uint8_t*>(*record) +
           (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? sizeof(CUpti_ActivityKernel10)
               : kind == CUPTI_ACTIVITY_KIND_MEMCPY       ? sizeof(CUpti_ActivityMemcpy6)
                                                          : sizeof(CUpti_ActivityMemset4));
  }
  if (next == buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = fake.dropped;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_FAKE_RUN";
  return CUPTI_SUCCESS;
}

ttt::cuda::ActivityLog* ttt_cuda_activity_log();

}  // extern "C"

namespace ttt::cuda {
namespace {

class Cupti : public testing::Test {
 protected:
  void SetUp() override { fake.failing.clear(), fake.dropped = 0, fake.enabled.clear(); }
  ActivityLog& log = *ttt_cuda_activity_log();
};

TEST_F(Cupti, KernelsCopiesAndFillsAreSummed) {
  for (int time = 0; time < 2; ++time) {  // a second profile knows nothing of the first
    fake.dropped = 7;
    log.start();
    EXPECT_EQ(fake.enabled.size(), 3u);
    const ActivityReport r = summarise(log.stop());
    EXPECT_TRUE(fake.enabled.empty());
    EXPECT_EQ(r.kernels, 1);
    EXPECT_EQ(r.others, 2);
    EXPECT_EQ(r.lost, 7);
    EXPECT_DOUBLE_EQ(r.window_s, 1000e-9);
    EXPECT_DOUBLE_EQ(r.busy_s, 600e-9);
    ASSERT_EQ(r.sums.size(), 3u);
    EXPECT_EQ(r.sums[0].name, "ttt::match");
  }
}

TEST_F(Cupti, WhatFailsIsNamed) {
  for (const char* function : {"cuptiActivityEnable", "cuptiActivityFlushAll", "cuptiActivityDisable"}) {
    fake.failing = function;
    const std::string text = test::message_of([&] { log.start(), log.stop(); });
    EXPECT_NE(text.find(function), std::string::npos) << text;
    EXPECT_NE(text.find("CUPTI_ERROR_FAKE_RUN"), std::string::npos) << text;
    fake.failing.clear();
  }
}

}  // namespace
}  // namespace ttt::cuda
