#include "mpi_main.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

namespace {

ttt::comm::World* world = nullptr;

// Every rank runs the same tests; only rank 0 reports those that pass.
class FailuresOnly final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* file = result.file_name() != nullptr ? result.file_name() : "?";
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", world->rank(), file, result.line_number(), result.summary());
  }
};

}  // namespace

const ttt::comm::World& test_world() { return *world; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ttt::comm::World here(&argc, &argv);
  world = &here;
  if (here.rank() != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int rc = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  return rc == 0 && all.successful_test_count() == 0 && all.skipped_test_count() > 0 ? 77 : rc;
}
