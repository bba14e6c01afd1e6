// NCCL and the CUDA run time as src/comm/nccl.cc calls them. These are fakes: calls are written down and counted, and
// any of them can be told to fail, to stay under way, or never to end. Linked instead of the libraries, whose headers
// declare them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fake {

struct State {
  std::mutex mutex;
  // who called reset(): of other threads (the watchdog, which begins when it likes) no call is written down
  std::thread::id caller;
  std::vector<std::string> calls;  // "ncclAllReduce 12 floats on stream 2", in order
  std::string fails;               // the function that fails; "" none
  int fails_at = 1;                // its call that does
  bool collectives_end = true;     // whether what was started ever ends
  bool init_ends = true;           // whether a communicator is ever ready
  bool capturing = false;          // whether streams record
  bool peer_fails = false;         // whether NCCL reports an error of another rank
  int version = 0;                 // of the library; 0: that of the header

  // What rank 0 writes into its log where the environment asks for one, in NCCL's own words (kChannelsLine,
  // kAllReduceLine).
  std::string algorithm = "Ring", protocol = "Simple";  // where nobody asks for others, or `heeds` is false
  int channels = 24;
  bool heeds = true;    // what it is asked for
  bool silent = false;  // writes nothing

  std::map<std::string, int> seen;  // calls by function
};
inline constexpr const char* kChannelsLine =
    "%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, %d p2p channels per peer";
inline constexpr const char* kAllReduceLine = "%s: %ld Bytes -> Algo %s proto %s channel{Lo..Hi}={%d..%d}";
State& state();
void reset();  // nothing fails, nothing was called

// How often a function was called.
int count(const std::string& function);
// The calls of the thread that called reset(), without queries.
std::vector<std::string> calls();
// All functions that were called since the reset.
std::vector<std::string> functions();

}  // namespace fake
