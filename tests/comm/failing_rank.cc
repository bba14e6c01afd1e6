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

// The bad rank stands still as a whole: only the others' heartbeats tell.
void wait_for_silence(const World& world, bool bad) {
  RankState place;
  const auto heartbeat = world.heartbeat(place);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  if (bad) raise(SIGSTOP);
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    const std::vector<Sign> signs = heartbeat->signs();
    int alive = 0;
    for (const Sign& s : signs) alive += s.silent_s < 1;
    if (signs.back().silent_s < 1) continue;
    throw ttt::DataError(std::to_string(alive) + " ranks of " + std::to_string(signs.size()) + " live, rank " +
                         std::to_string(signs.size() - 1) + " is silent.");
  }
}

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
    const auto first = comm->all_reduce_sum_async(x.data(), x.size()),
               second = comm->all_reduce_sum_async(x.data(), 10);
    second->wait();  // behind the one that fails, so it fails the same way
  }
  if (way == "stop") wait_for_silence(world, bad);
  if (way == "hang_gather" && bad) std::this_thread::sleep_for(std::chrono::seconds(100));
  if (way == "hang_gather") {
    comm->gather("hello", 0);
    // whoever has delivered is not waited for; what it would wait for next must not fail first
    std::this_thread::sleep_for(std::chrono::seconds(100));
  }
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
