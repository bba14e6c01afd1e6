// A program in which one rank fails, for expect_exit.sh: failing_rank <way>.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/world.h"
#include "core/error.h"

namespace {

using namespace ttt::comm;

void run(const World& world, const std::string& way) {
  const auto comm = world.communicator();
  const bool bad = world.rank() == world.size() - 1;
  std::vector<float> x(100000, 1.0f);
  comm->all_reduce_sum(x.data(), x.size());
  if (way == "none") {
    if (world.rank() == 0) std::puts("all ranks are well");
    return;
  }
  if (way == "throw" && bad) throw ttt::DataError("the last rank cannot read its shard.");
  if (way == "throw_with_pending_work") {
    const auto control = world.communicator();
    // Nobody else starts this one: the exception must not wait for it.
    const auto work = bad ? comm->all_reduce_sum_async(x.data(), x.size()) : nullptr;
    if (bad) throw ttt::DataError("the last rank cannot read its shard.");
    control->barrier();
  }
  if (way == "mismatch" && bad) comm->all_reduce_sum(x.data(), 500);
  if (way == "kill" && bad) raise(SIGKILL);
  if (way == "hang" && bad) std::this_thread::sleep_for(std::chrono::seconds(100));
  if (way == "hang_async") {
    if (bad) std::this_thread::sleep_for(std::chrono::seconds(100));
    const auto first = comm->all_reduce_sum_async(x.data(), x.size()), second = comm->all_reduce_sum_async(x.data(), 10);
    second->wait();  // behind the one that fails, so it fails the same way
  }
  if (way == "hang_gather" && bad) std::this_thread::sleep_for(std::chrono::seconds(100));
  if (way == "hang_gather") comm->gather("hello", 0);
  comm->all_reduce_sum(x.data(), 1000);
  comm->barrier();
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  try {
    run(world, argc > 1 ? argv[1] : "none");
  } catch (const ttt::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    world.abort(e.exit_code());
  }
}
