// Times two variants in turns on the same work, until the difference is known well enough.
//
// A round is four blocks, A B B A, or B A A B in turns: each side runs first once and second once on the same steps.
// Drift of the machine then costs both alike, as does work between rounds. Samples of one step on both sides are a
// pair.
//
// Both sides are built anew again and again, each first in turns. Where a side's memory happens to lie stays as it is
// for the life of a build and is worth some tenths of a per cent of its steps. Rounds of one build repeat that luck,
// however many they are, and only another build draws again. So the interval is taken over builds (Kalibera and Jones,
// "Rigorous benchmarking in reasonable time", ISMM 2013: repeat the highest level that varies).
//
// A measurement that ends when its interval is narrow prefers samples that happen to lie close together, and the more
// often it looks, the more its interval misses. So it looks seldom, each time at twice as many builds. The looks share
// the 5 % by which an interval may miss (Bonferroni; Jennison and Turnbull, "Interim analyses: the repeated confidence
// interval approach", 1989). An interval at one of them holds the truth with 95 % at least, whatever made it the last.
#pragma once

#include <array>
#include <vector>

#include "result/comparison.h"
#include "result/run_record.h"

namespace ttt::harness {

// Seconds of one step by phase, in the order of result::kPhaseNames.
using PhaseTimes = std::array<double, result::kPhaseNames.size()>;

// One side. Both sides of a comparison run the same work in the same order.
class Arm {
 public:
  virtual ~Arm() = default;
  // Runs the next `steps` steps and returns the seconds of each, all positive. Under several ranks: collective, and the
  // same numbers on every rank, because the ranks decide by them when to stop.
  virtual std::vector<double> block(int steps) = 0;
  // Of the steps of the last block, mean over ranks; empty where steps have no phases. Not collective.
  virtual const std::vector<PhaseTimes>& phases() const;
};

// A build of both sides.
struct Sides {
  Arm &baseline, &variant;
  double seconds = 0;  // that making them took, alike on all ranks
  double step_s = 0;   // a step, about, alike on all ranks; read of the first build
};

// How far a measurement is, after a build.
struct Sofar {
  std::int64_t builds = 0, least = 0;  // done, and wanted at least
  double left_s = 0;                   // until its limit, or the least builds
  const result::PairedSamples& samples;
};

// Makes the sides, and hears how far their measurement is. Collective where the arms are.
class Builder {
 public:
  virtual ~Builder() = default;
  // The next build, the variant made first where `variant_first`. The sides of the build before are not used any more.
  virtual Sides build(std::int64_t number, bool variant_first) = 0;
  virtual void warm() {}                                          // from here on, the build's rounds count
  virtual void measured([[maybe_unused]] std::int64_t rounds) {}  // the build's last round is over; so many counted
  virtual void told([[maybe_unused]] const Sofar& sofar) {}       // after measured()
  // asked after each round, alike on all ranks; true ends the measurement
  virtual bool interrupted() { return false; }
};

// Builds after which each side was made first and began first as often as the other, together too: measurements end
// after so many, or a multiple.
inline constexpr std::int64_t kBuildTurns = 4;

inline constexpr double kLongStep_s = 0.15;

struct PairedSettings {
  // 0: two, or one where a step takes kLongStep_s: a round of eight such steps would be a second or more
  int block_steps = 0;
  int settle_steps = 0;       // first steps of a block that are run and not counted
  double half_width = 0.005;  // enough: the interval of the relative effect reaches so far to either side
  double limit_s = 45;        // building and warming up included; `builds` of `min_rounds` are measured in any case
  // at least, a multiple of kBuildTurns, six or more; 1: a single one, whose interval is over its rounds
  std::int64_t builds = 8;
  std::int64_t min_rounds = 1, max_rounds = 400;  // of a build at least; of all at most
  std::int64_t max_warmup_turns = 40;             // of a build
};

// Warm-up of a build: uncounted blocks of each side in turn, until a turn is at most 3 % faster than the last or as
// fast as earlier builds. Then counted rounds for as long as build and warm-up took, or less if the limit would be
// missed.
result::PairedSamples measure_pairs(Builder& builder, const PairedSettings& settings);

}  // namespace ttt::harness
