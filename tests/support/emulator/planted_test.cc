// The emulator detects mistakes: each is planted in a small kernel. Without the mistake nothing is reported.
#include "planted.h"

#include <gtest/gtest.h>

#include <string>

#include "backend.h"
#include "core/error.h"
#include "kernels/common/launch.h"

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

namespace planted {
namespace {

using namespace ttt::kernels;

std::vector<float> run_once(Mistake m, int grid = 1) {
  std::vector<float> numbers(64);
  for (int i = 0; i < 64; ++i) numbers[i] = static_cast<float>(i * i);
  auto in = input(numbers, "in");
  auto out = in_out(std::vector<float>(64, -1.0f), "out"), workspace = output<float>(64, "the workspace");
  auto counter = in_out(std::vector<int>{0}, "counter");
  run(m, in.get(), out.get(), workspace.get(), counter.get(), grid);
  return out.values();
}

struct Case {
  Mistake mistake;
  const char* says;           // part of the message
  bool by_address_sanitizer;  // what it finds in place of the shadow
};

class Planted : public testing::TestWithParam<Case> {};
const Case kCases[] = {
    {Mistake::kWriteBehindTheEnd, "writes 4 bytes outside every buffer", true},
    {Mistake::kWriteBeforeTheBeginning, "writes 4 bytes outside every buffer", true},
    {Mistake::kReadBehindTheEnd, "reads 4 bytes outside every buffer", true},
    {Mistake::kWriteToAnInput, "it writes to an input, at byte 28 of in", true},
    {Mistake::kSharedBehindTheEnd, "writes 4 bytes outside every buffer", true},
    {Mistake::kMissingBarrier, "at byte", false},
    {Mistake::kWriteAfterRead, "race: it", false},
    {Mistake::kPlainCounter, "race: it", false},
    {Mistake::kPlainBesideAtomic, "race: it", false},
    {Mistake::kUnwrittenShared, "it reads what nobody has written", false},
    {Mistake::kUnwrittenWorkspace, "it reads what nobody has written at byte 20 of the workspace", false},
};
INSTANTIATE_TEST_SUITE_P(Memory, Planted, testing::ValuesIn(kCases));

TEST_P(Planted, Mistake_Detected) {
  const Case& c = GetParam();
  if (kAddressSanitizer) {
    if (!c.by_address_sanitizer)
      GTEST_SKIP() << "races and unwritten memory are found by the shadow, which the address sanitizer replaces";
    EXPECT_DEATH(run_once(c.mistake), "ERROR: AddressSanitizer|runtime error");
    return;
  }
  under_all_schedules([&] {
    try {
      run_once(c.mistake);
      ADD_FAILURE() << "not found";
    } catch (const emulation::EmulationError& e) {
      EXPECT_NE(std::string(e.what()).find(c.says), std::string::npos) << e.what();
    }
  });
}

TEST(PlantedMemory, OrderUnchecked_BoundsAre) {
  if (kAddressSanitizer) GTEST_SKIP() << "the address sanitizer replaces the shadow";
  emulation::check_order(false);
  EXPECT_NO_THROW(run_once(Mistake::kPlainCounter));
  EXPECT_THROW(run_once(Mistake::kWriteBehindTheEnd), emulation::EmulationError);
  EXPECT_THROW(run_once(Mistake::kSharedBehindTheEnd), emulation::EmulationError);
  emulation::check_order(true);
  EXPECT_THROW(run_once(Mistake::kPlainCounter), emulation::EmulationError);
}

TEST(PlantedMemory, MisalignedVector_EndsProgram) { EXPECT_DEATH(run_once(Mistake::kMisaligned), ""); }

TEST(PlantedThreads, PartialBarrier_Detected) {
  for (const auto& [mistake, says] : {std::pair{Mistake::kBarrierForSome, "has ended"},
           std::pair{Mistake::kEndBeforeTheBarrier, "thread 40 has ended"},
           std::pair{Mistake::kBarriersAtTwoPlaces, "waits at the barrier planted.cu"}})
    under_all_schedules([&, mistake = mistake, says = says] {
      try {
        run_once(mistake);
        ADD_FAILURE() << "not found";
      } catch (const emulation::EmulationError& e) {
        EXPECT_NE(std::string(e.what()).find("have parted"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
      }
    });
}

TEST(PlantedThreads, WrongMask_Detected) {
  for (const auto& [mistake, says] : {std::pair{Mistake::kMaskLeavesCallerOut, "with a mask that leaves it out"},
           std::pair{Mistake::kMaskLeavesSourceOut, "which its mask leaves out"},
           std::pair{Mistake::kMaskNamesAbsentLanes, "for the lanes of mask ffffffff"}})
    under_all_schedules([&, mistake = mistake, says = says] {
      try {
        run_once(mistake);
        ADD_FAILURE() << "not found";
      } catch (const emulation::EmulationError& e) {
        EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
      }
    });
}

TEST(PlantedThreads, RaceBetweenBlocks_Detected) {
  if (kAddressSanitizer) GTEST_SKIP() << "found by the shadow, which the address sanitizer replaces";
  EXPECT_NO_THROW(run_once(Mistake::kBlocksMeet, 1));
  EXPECT_THROW(run_once(Mistake::kBlocksMeet, 2), emulation::EmulationError);
}

TEST(PlantedThreads, OrderDependentResult_DiffersBetweenSchedules) {
  std::vector<std::vector<float>> results;
  under_all_schedules([&] { results.push_back(run_once(Mistake::kOrderOfAtomics)); });
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[0], results[2]);
  EXPECT_NE(results[2], results[3]);
}

TEST(Correct, EverySchedule_NothingDetected) {
  under_all_schedules([&] {
    const std::vector<float> out = run_once(Mistake::kNone, 3);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], static_cast<float>(i * i + (i + 1) % 64 * ((i + 1) % 64))) << i;
  });
}

TEST(Correct, LaunchAfterMistake_Complete) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(run_once(Mistake::kBarrierForSome), emulation::EmulationError);
    EXPECT_EQ(run_once(Mistake::kNone)[1], 5.0f);
  }
}

TEST(Launch, ImpossibleShape_RefusedByName) {
  using cuda::check_shape;
  const auto refused = [](const cuda::Shape& shape, const std::string& says) {
    try {
      check_shape("fold", shape);
      ADD_FAILURE() << "not refused: " << says;
    } catch (const ttt::UsageError& e) {
      EXPECT_EQ(std::string(e.what()).find("The kernel fold would need " + says), 0u) << e.what();
    }
  };
  EXPECT_NO_THROW(check_shape("fold", {.x = 2147483647, .y = 65535, .z = 65535, .threads = 1024, .shared = 49152}));
  refused({.x = 2147483648}, "2147483648 blocks in x");
  refused({.x = -1}, "-1 blocks in x");
  refused({.y = 65536}, "65536 blocks in y");
  refused({.z = 65536}, "65536 blocks in z");
  refused({.threads = 1025}, "1025 threads");
  refused({.threads = 0}, "0 threads");
  refused({.shared = 49153}, "49153 bytes of shared memory");
}

}  // namespace
}  // namespace planted
