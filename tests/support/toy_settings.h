// A settings struct with every field type, limits, and groups two deep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings/fields.h"

namespace ttt::test {

struct ToyDecay {
  std::vector<std::int64_t> epochs = {12, 16};
  double factor = 0.1;
  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("epochs", s.epochs, "epochs after which the rate falls", between(0, 9.3e18));
    v("factor", s.factor, "factor of each fall", between(0, 1));
  }
};

struct ToySolver {
  double lr = 0.02;
  ToyDecay decay;  // declared between two plain fields: TOML must print it after both
  std::string schedule = "step";
  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("lr", s.lr, "base learning rate [1/step]", between(0, 1000));
    v("decay", s.decay, "step decay");
    v("schedule", s.schedule, "learning-rate schedule", one_of({"step", "cosine"}));
  }
};

struct ToyRecipe {
  ToySolver solver;
  std::int64_t seed = 1;
  bool amp = false;
  std::string title = "a \"quoted\" \\ title\n\ttwo lines | \x01";
  std::vector<double> mean = {123.675, 116.28, 1e-7};
  std::vector<double> empty;
  std::vector<std::string> names = {"one", "t\"wo"};
  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("solver", s.solver, "optimiser and schedule");
    v("seed", s.seed, "seed of every random choice", between(0, 9.2e18));
    v("amp", s.amp, "mixed precision");
    v("title", s.title, "free text\nwith a second line of documentation");
    v("mean", s.mean, "channel means | RGB", between(-1.7976931348623157e308, 1.7976931348623157e308).count(0, 4));
    v("empty", s.empty, "an empty list", between(0, 1));
    v("names", s.names, "a list of words", one_of({"one", "t\"wo", "three"}));
  }
};

}  // namespace ttt::test
