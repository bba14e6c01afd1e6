#include "run/launch.h"

namespace ttt {

harness::Launch launch_of(const comm::World& world, comm::Communicator& comm, double start_s) {
  return {.rank = world.rank(),
      .size = world.size(),
      .start_s = start_s,
      .from_root = [&comm](const std::string& text) { return comm::broadcast_text(comm, text); },
      .gather = [&comm](const std::string& text) { return comm.gather(text, 0); },
      .abort = [&world](int code) { world.abort(code); }};
}

}  // namespace ttt
