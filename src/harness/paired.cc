#include "harness/paired.h"

#include <numeric>

namespace ttt::harness {
namespace {

double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

// One round's samples, and what it took.
class Rounds {
 public:
  Rounds(Arm& a, Arm& b, const PairedSettings& settings) : a_(a), b_(b), settings_(settings) {}

  double run(std::int64_t round, result::PairedSamples* samples) {
    const bool b_begins = round % 2 == 1;
    Arm &first = b_begins ? b_ : a_, &second = b_begins ? a_ : b_;
    const std::vector<double> f1 = first.block(length()), s1 = second.block(length()), s2 = second.block(length()), f2 = first.block(length());
    if (samples) {
      add(*samples, round, 0, b_begins, b_begins ? s1 : f1, b_begins ? f1 : s1);
      add(*samples, round, 1, !b_begins, b_begins ? s2 : f2, b_begins ? f2 : s2);
    }
    step_ += 2 * length();
    return sum(f1) + sum(s1) + sum(s2) + sum(f2);
  }

 private:
  int length() const { return settings_.settle_steps + settings_.block_steps; }
  void add(result::PairedSamples& s, std::int64_t round, int half, bool variant_first, const std::vector<double>& a, const std::vector<double>& b) const {
    for (int i = settings_.settle_steps; i < length(); ++i) {
      s.round.push_back(round);
      s.step.push_back(step_ + half * length() + i);
      s.variant_first.push_back(variant_first);
      s.baseline_s.push_back(a[i]);
      s.variant_s.push_back(b[i]);
    }
  }

  Arm &a_, &b_;
  const PairedSettings& settings_;
  std::int64_t step_ = 0;
};

}  // namespace

result::PairedSamples measure_pairs(Arm& baseline, Arm& variant, const PairedSettings& settings, const std::function<void()>& measuring,
                                    const std::function<bool()>& interrupted) {
  Rounds rounds(baseline, variant, settings);
  result::PairedSamples samples;
  double spent = rounds.run(0, nullptr), last = spent;
  for (samples.warmup_rounds = 1; samples.warmup_rounds < settings.max_warmup_rounds; ++samples.warmup_rounds) {
    const double now = rounds.run(0, nullptr);
    spent += now;
    const bool steady = now > 0.97 * last;
    last = now;
    if (steady || spent > settings.limit_s / 2) {
      ++samples.warmup_rounds;
      break;
    }
  }
  if (measuring) measuring();
  for (std::int64_t round = 0; samples.stopped.empty(); ++round) {
    spent += rounds.run(round, &samples);
    const auto effect = round + 1 >= settings.min_rounds ? result::effect(samples) : std::nullopt;
    if (effect && (effect->high - effect->low) / 2 <= settings.half_width) samples.stopped = "precise";
    if (interrupted && interrupted()) samples.stopped = "interrupted";  // asked after every round: it may be collective
    else if (!samples.stopped.empty()) break;
    else if (spent >= settings.limit_s && round + 1 >= settings.min_rounds) samples.stopped = "time";
    else if (round + 1 >= settings.max_rounds) samples.stopped = "rounds";
  }
  return samples;
}

}  // namespace ttt::harness
