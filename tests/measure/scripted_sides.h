// Sides of a comparison whose times are known, and their builder.
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <functional>
#include <memory>
#include <numeric>
#include <type_traits>

#include "core/rng.h"
#include "measure/paired.h"

namespace ttt::test {

// What a step takes, whole or by phase. `clock` counts the steps of both sides, as a machine that drifts would.
struct Script {
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Script>) Script(F f) {
    if constexpr (std::is_invocable_r_v<double, F, std::int64_t, std::int64_t>) seconds = std::move(f);
    else phases = std::move(f);
  }
  std::function<double(std::int64_t step, std::int64_t clock)> seconds;
  std::function<harness::PhaseTimes(std::int64_t step, std::int64_t clock)> phases;
};

class Scripted final : public harness::Arm {
 public:
  Scripted(std::int64_t& clock, Script script) : clock_(clock), script_(std::move(script)) {}
  std::vector<double> block(int steps) override {
    std::vector<double> out;
    phases_.clear();
    for (int i = 0; i < steps; ++i, ++step_, ++clock_) {
      if (script_.phases) phases_.push_back(script_.phases(step_, clock_));
      out.push_back(script_.phases ? std::accumulate(phases_.back().begin(), phases_.back().end(), 0.0)
                                   : script_.seconds(step_, clock_));
    }
    blocks.push_back(steps);
    return out;
  }
  const std::vector<harness::PhaseTimes>& phases() const override { return phases_; }
  std::vector<int> blocks;

 private:
  std::int64_t& clock_;
  Script script_;
  std::vector<harness::PhaseTimes> phases_;
  std::int64_t step_ = 0;
};

// Steps of such phases, each longer by its content, alike on both sides, and each phase by noise of 2 %.
inline auto noisy(Stream& draw, const harness::PhaseTimes& phases) {
  return [&draw, phases](std::int64_t step, std::int64_t) {
    harness::PhaseTimes out = phases;
    for (double& s : out)
      s *= (1 + 0.3 * unit_double(mix64(static_cast<std::uint64_t>(step)))) * (1 + 0.02 * (draw.uniform() - 0.5));
    return out;
  };
}

// Makes the sides anew by a function, and remembers what it was asked.
class Scripts final : public harness::Builder {
 public:
  Scripts(std::function<std::pair<Script, Script>(std::int64_t build)> make, double seconds = 0)
      : make_(std::move(make)), seconds_(seconds) {}
  explicit Scripts(const Script& a, const Script& b) : Scripts([=](std::int64_t) { return std::pair(a, b); }) {}

  harness::Sides build(std::int64_t number, bool variant_first) override {
    EXPECT_EQ(number, static_cast<std::int64_t>(first.size()));
    EXPECT_EQ(warmed, number);
    EXPECT_EQ(rounds.size(), first.size());
    first.push_back(variant_first);
    const auto [sa, sb] = make_(number);
    a = std::make_unique<Scripted>(clock_, sa), b = std::make_unique<Scripted>(clock_, sb);
    return {*a, *b, seconds_, step_s};
  }
  void warm() override { ++warmed; }
  void measured(std::int64_t n) override { rounds.push_back(n); }
  bool interrupted() override { return ++asked == interrupt_at; }

  std::unique_ptr<Scripted> a, b;
  std::vector<bool> first;
  std::vector<std::int64_t> rounds;
  std::int64_t warmed = 0, asked = 0, interrupt_at = -1;
  double step_s = 0;  // what a build says that a step takes

 private:
  std::function<std::pair<Script, Script>(std::int64_t)> make_;
  double seconds_;
  std::int64_t clock_ = 0;
};

}  // namespace ttt::test
