// A fault that a user plants in a run of his own, to see what his installation makes of it: --inject
// rank=3,step=40,kind=kill
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::train {

enum class FaultKind {
  kKill,
  kExit,
  kSegfault,
  kStop,
  kHang,
  kHangLoader,
  kSlow,
  kThrow,
  kOom,
  kNan,
  kCorrupt,
  kDiskFull,
  kSignal,
  kSignalTwice
};

struct Fault {
  int rank = 0;
  FaultKind kind = FaultKind::kKill;
  bool in_evaluation = false;
  // One of the two; -1: not given.
  // from 0, as in the result; in_evaluation: in the first evaluation after so many steps or more
  std::int64_t step = -1;
  std::int64_t epoch = -1;  // from 1: in its first step; in_evaluation: in the evaluation after it
  double ms = 0;            // kSlow: milliseconds longer in each step from there on
  double factor = 0;        // kSlow: so many times as long, in place of ms
  std::int64_t bit = 22;    // kCorrupt: of the float32, from 0, the lowest
  int signal = 0;           // kSignal, kSignalTwice: SIGTERM, SIGUSR1 or SIGINT
};

std::string_view kind_name(FaultKind kind);

// Throws UsageError naming what is wrong in `text` and what is allowed.
Fault parse_fault(const std::string& text);
// parse_fault(fault_text(f)) is f.
std::string fault_text(const Fault& fault);
// Every text parsed; throws UsageError also for a rank that a run of so many ranks does not have.
std::vector<Fault> parse_faults(const std::vector<std::string>& texts, int ranks);

// For --help: the keys and the kinds.
std::string fault_help();

}  // namespace ttt::train
