#include "measure/paired.h"

#include <algorithm>
#include <numeric>

#include "measure/looks.h"

namespace ttt::harness {
namespace {

double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

constexpr double kSteady = 0.03;  // turns differ by as much without being warmer
constexpr std::int64_t kFewestForInterval = 6;

struct Block {
  std::vector<double> step_s;
  std::vector<PhaseTimes> phase_s;
};
Block block_of(Arm& arm, int steps) {
  std::vector<double> step_s = arm.block(steps);  // before its phases are asked for
  return {std::move(step_s), arm.phases()};
}

// The rounds of one build.
class Rounds {
 public:
  // Of a block's `length` steps the first `settle` do not count.
  Rounds(const Sides& sides, int length, int settle, std::int64_t build)
      : sides_(sides), length_(length), settle_(settle), build_(build) {}

  // One block of each side that does not count. Seconds.
  double warm_up() {
    const auto [first, second] = in_order(begins());
    step_ += length_;
    const double first_s = sum(first.block(length_));
    return first_s + sum(second.block(length_));
  }

  // Seconds of the next round, which becomes number `round` of the samples.
  double run(std::int64_t round, result::PairedSamples& samples) {
    const bool b_begins = begins() != (counted_++ % 2 == 1);
    const auto [first, second] = in_order(b_begins);
    const Block f1 = block_of(first, length_), s1 = block_of(second, length_), s2 = block_of(second, length_),
                f2 = block_of(first, length_);
    const Block &a1 = b_begins ? s1 : f1, &b1 = b_begins ? f1 : s1, &a2 = b_begins ? s2 : f2, &b2 = b_begins ? f2 : s2;
    add(samples, round, 0, b_begins, a1.step_s, b1.step_s);
    add(samples, round, 1, !b_begins, a2.step_s, b2.step_s);
    add_phases(samples, {&a1, &a2}, {&b1, &b2});
    step_ += 2 * length_;
    return sum(f1.step_s) + sum(s1.step_s) + sum(s2.step_s) + sum(f2.step_s);
  }

 private:
  struct Order {
    Arm &first, &second;
  };
  // Whether the variant begins. Of two builds with the same side made first, each side begins one, warm-up included. A
  // block that follows one of its own side finds its data in the caches, and which side has more of these depends on
  // who began.
  bool begins() const { return build_ / 2 % 2 == 1; }
  Order in_order(bool b_begins) const {
    return b_begins ? Order{sides_.variant, sides_.baseline} : Order{sides_.baseline, sides_.variant};
  }
  void add(result::PairedSamples& s, std::int64_t round, int half, bool variant_first, const std::vector<double>& a,
      const std::vector<double>& b) const {
    for (int i = settle_; i < length_; ++i) {
      s.build.push_back(build_);
      s.round.push_back(round);
      s.step.push_back(step_ + half * length_ + i);
      s.variant_first.push_back(variant_first);
      s.baseline_s.push_back(a[i]);
      s.variant_s.push_back(b[i]);
    }
  }
  using Halves = std::array<const Block*, 2>;  // of a round, one side's
  // What only one side has cannot be compared.
  void add_phases(result::PairedSamples& s, const Halves& a, const Halves& b) const {
    if (a[0]->phase_s.empty() || b[0]->phase_s.empty()) return;
    const PhaseTimes mean_a = mean(a), mean_b = mean(b);
    for (std::size_t p = 0; p < mean_a.size(); ++p) {
      result::PhaseSamples& phase = s.phases[std::string(result::kPhaseNames[p])];
      phase.baseline_s.push_back(nanoseconds(mean_a[p])), phase.variant_s.push_back(nanoseconds(mean_b[p]));
    }
  }
  // What clocks resolve: a mean of steps has twice as many digits, of which none says more.
  static double nanoseconds(double seconds) { return std::round(1e9 * seconds) / 1e9; }
  // Over the steps that count.
  PhaseTimes mean(const Halves& halves) const {
    PhaseTimes m{};
    for (const Block* half : halves)
      for (int i = settle_; i < length_; ++i)
        for (std::size_t p = 0; p < m.size(); ++p)
          m[p] += half->phase_s[static_cast<std::size_t>(i)][p] / (2 * (length_ - settle_));
    return m;
  }

  Sides sides_;
  int length_, settle_;
  std::int64_t build_ = 0, counted_ = 0, step_ = 0;
};

class Measurement {
 public:
  Measurement(Builder& builder, const PairedSettings& settings)
      : builder_(builder), settings_(settings),
        looks_(settings.builds == 1 ? std::max(kFewestForInterval, settings.min_rounds) : settings.builds,
            settings.max_rounds) {}

  result::PairedSamples run() {
    for (std::int64_t build = 0; samples_.stopped.empty(); ++build) {
      measure(build);
      if (build + 1 >= settings_.builds && (build + 1) % kBuildTurns == 0)
        stop_if_known(build + 1, kBuildTurns * spent_s_ / static_cast<double>(build + 1));
    }
    return samples_;
  }

 private:
  void measure(std::int64_t build) {
    const double begun_s = spent_s_,
                 builds_left = static_cast<double>(std::max<std::int64_t>(1, settings_.builds - build));
    const double share_s = std::max(0.0, settings_.limit_s - spent_s_) / builds_left;
    const Sides sides = builder_.build(build, build % 2 == 1);
    spent_s_ += sides.seconds;
    if (build == 0)
      block_steps_ = settings_.block_steps > 0 ? settings_.block_steps : (sides.step_s >= kLongStep_s ? 1 : 2);
    Rounds rounds(sides, settings_.settle_steps + block_steps_, settings_.settle_steps, build);
    warm_up(rounds, build == 0 ? settings_.limit_s / 4 : share_s / 2);
    builder_.warm();
    const double lost_s = spent_s_ - begun_s;
    std::int64_t counted = 0;
    for (double counted_s = 0; samples_.stopped.empty();) {
      const double round_s = rounds.run(rounds_++, samples_);
      ++counted, counted_s += round_s, measured_s_ += round_s, spent_s_ += round_s;
      if (builder_.interrupted()) samples_.stopped = "interrupted", samples_.confidence = looks_.last_confidence();
      else if (counted < settings_.min_rounds) continue;
      else if (settings_.builds == 1) stop_if_known(counted, 0);
      else if (counted_s >= lost_s || (build < settings_.builds && spent_s_ - begun_s >= share_s)) break;
    }
    builder_.measured(counted);
    const double of_least_s =
        spent_s_ / static_cast<double>(build + 1) * static_cast<double>(settings_.builds - build - 1);
    builder_.told({build + 1, settings_.builds, std::max({0.0, settings_.limit_s - spent_s_, of_least_s}), samples_});
  }

  void warm_up(Rounds& rounds, double limit_s) {
    double last = 0, all = 0;
    for (std::int64_t i = 0; i < settings_.max_warmup_turns && all <= limit_s; ++i) {
      const double now = rounds.warm_up();
      ++samples_.warmup_turns, all += now, spent_s_ += now;
      const bool as_before = rounds_ > 0 && now < (1 + kSteady) * measured_s_ / static_cast<double>(2 * rounds_);
      if (as_before || (i > 0 && now > (1 - kSteady) * last)) return;
      last = now;
    }
  }

  // Whatever ends a measurement, it has an interval. `n`: builds, or rounds of a single one; `next_s`: until this is
  // asked again.
  void stop_if_known(std::int64_t n, double next_s) {
    const bool late = spent_s_ + next_s / 2 >= settings_.limit_s, last = late || rounds_ >= settings_.max_rounds;
    if (!last && !looks_.due(n)) return;
    samples_.confidence = last ? looks_.last_confidence() : looks_.confidence();
    const auto effect = result::effect(samples_);
    if (!effect) return;  // nothing was seen: the next is the look that this one would have been
    if ((effect->high - effect->low) / 2 <= settings_.half_width) samples_.stopped = "precise";
    else if (last) samples_.stopped = late ? "time" : "rounds";
    else looks_.take(n);
  }

  Builder& builder_;
  const PairedSettings& settings_;
  Looks looks_;
  result::PairedSamples samples_;
  double spent_s_ = 0, measured_s_ = 0;
  std::int64_t rounds_ = 0;
  int block_steps_ = 0;
};

}  // namespace

const std::vector<PhaseTimes>& Arm::phases() const {
  static const std::vector<PhaseTimes> kNone;
  return kNone;
}

result::PairedSamples measure_pairs(Builder& builder, const PairedSettings& settings) {
  return Measurement(builder, settings).run();
}

}  // namespace ttt::harness
