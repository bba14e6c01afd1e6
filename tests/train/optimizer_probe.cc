// optimizer_probe INPUT OUTPUT KEY=VALUE...: updates of parameters whose gradients another program gives, by the
// optimizer of these settings; tests/train/optimizers.py is that program.
//
// INPUT: "value/NAME" float32, the first values of a parameter, in the order of names; "gradient/STEP/NAME" for steps
// 0, 1, ...; "lr" [1] float64.
// OUTPUT: "STEP/NAME", values after each step; "state/NAME", the optimizer's state after the last.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "tests/models/tensors_file.h"
#include "train/optimizers/optimizer.h"

namespace {

struct Setter {
  std::string key, value;
  bool found = false;
  template <class T, class... Rest> void operator()(const char* name, T& field, const Rest&...) {
    if (key != name) return;
    found = true;
    if constexpr (std::is_same_v<T, std::string>) field = value;
    else if constexpr (std::is_same_v<T, bool>) field = value == "true";
    else field = std::atof(value.c_str());
  }
};

}  // namespace

int main(int argc, char** argv) {
  using namespace ttt;
  train::OptimizerConfig config;
  for (int i = 3; i < argc; ++i) {
    const std::string pair = argv[i];
    const std::size_t at = pair.find('=');
    Setter set{.key = pair.substr(0, at), .value = pair.substr(at + 1)};
    train::OptimizerConfig::fields(config, set);
    if (!set.found) return std::fprintf(stderr, "no such key: %s\n", argv[i]), 2;
  }
  const test::Tensors in = test::read(argv[1]);
  model::ParameterStore store(1);
  std::vector<std::string> names;
  for (const auto& [key, value] : in)
    if (key.starts_with("value/")) {
      names.push_back(key.substr(6));
      store.add(names.back(), value.sizes().vec(), model::constant(0),
          value.dim() == 4 ? model::Layout::kChannelsLast : model::Layout::kPlain);
    }
  store.finalise(at::kCPU);
  for (model::Parameter& p : store.all()) p.value.detach().copy_(in.at("value/" + p.name));
  const auto optimizer = train::make_optimizer(config, {.store = store});
  test::Tensors out;
  for (int step = 0; in.contains("gradient/" + std::to_string(step) + "/" + names[0]); ++step) {
    const std::string number = std::to_string(step) + "/";
    for (const model::Parameter* p : store.trainable()) p->value.grad().copy_(in.at("gradient/" + number + p->name));
    optimizer->step(train::rates_on_host(in.at("lr").item<double>(), 1));
    for (const model::Parameter& p : store.all()) out[number + p.name] = p.value.detach().clone().contiguous();
  }
  for (const train::NamedTensor& t : optimizer->state()) out["state/" + t.name] = t.value.clone();
  test::write(argv[2], out);
}
