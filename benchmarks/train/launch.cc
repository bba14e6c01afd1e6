#include "train/launch.h"

namespace ttt {
namespace {

// The text of rank 0 on every rank.
std::string from_root(comm::Communicator& comm, const std::string& text) {
  std::uint64_t size = text.size();
  comm.broadcast(&size, sizeof size, 0);
  std::string out = text;
  out.resize(size);
  comm.broadcast(out.data(), size, 0);
  return out;
}

}  // namespace

harness::Launch launch_of(const comm::World& world, comm::Communicator& comm, double start_s) {
  return {.rank = world.rank(),
          .size = world.size(),
          .start_s = start_s,
          .from_root = [&comm](const std::string& text) { return from_root(comm, text); },
          .gather = [&comm](const std::string& text) { return comm.gather(text, 0); },
          .abort = [&world](int code) { world.abort(code); }};
}

}  // namespace ttt
