// NCCL's algorithm, protocol and channels for all-reduces as the recipe asks, and as NCCL's own log confirms them.
// Needs no NCCL: what is here is environment, settings and text.
#pragma once

#include <cstdint>
#include <ios>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "settings/fields.h"

namespace ttt::comm {

struct NcclTuning {
  std::string algorithm = "auto", protocol = "auto";
  std::int64_t channels = 0;

  bool asks() const { return algorithm != "auto" || protocol != "auto" || channels > 0; }

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("algorithm", s.algorithm,
        "of NCCL's all-reduces; auto: NCCL chooses. A run in which NCCL then uses another one ends",
        one_of({"auto", "ring", "tree", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"}));
    v("protocol", s.protocol, "of NCCL's all-reduces, held to in the same way",
        one_of({"auto", "ll", "ll128", "simple"}));
    v("channels", s.channels, "thread blocks of a collective of NCCL, held to in the same way; 0: NCCL chooses",
        between(0, 64));
  }
};

// Environment of the process for as long as this lives; what was there before is there again after.
class ScopedEnvironment {
 public:
  ScopedEnvironment() = default;
  ~ScopedEnvironment();
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  void set(const std::string& name, const std::string& value);

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

// NCCL reads NCCL_ALGO and NCCL_PROTO when a communicator is made: call it before, on every rank, while no other thread
// asks for the environment. Throws UsageError where the user's environment has either of them, too.
void ask_by_environment(const NcclTuning& tuning, ScopedEnvironment& environment);

// NCCL's log of a process, in a temporary file. Only rank 0 of a communicator writes its choices.
class NcclLog {
 public:
  // Before the communicator is made. `reopen`: makes NCCL look at its logging's environment again (ncclResetDebugInit);
  // null: it looks at it once in a process, so that only its first communicator can be followed. Throws UsageError
  // where the user has NCCL write a log of his own.
  NcclLog(ScopedEnvironment& environment, void (*reopen)());

  // After the communicator was made. Throws NotSupported where it has another number of channels than asked for.
  void check_channels(const NcclTuning& tuning);
  // After an all-reduce of `bytes` was started. Looks at the first of each size. Throws NotSupported where another
  // algorithm or protocol was used.
  void check_all_reduce(const NcclTuning& tuning, std::size_t bytes);

 private:
  std::string news();  // what NCCL wrote since the last time

  std::string file_;
  std::streamoff read_ = 0;
  std::set<std::size_t> checked_;
};

}  // namespace ttt::comm
