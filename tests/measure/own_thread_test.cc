// Sides on threads of their own, and the convolution whose calls are compared there, on the host.
#include "measure/own_thread.h"

#include <c10/core/AutogradState.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "comm/world.h"
#include "core/error.h"
#include "eval/mask_rcnn.h"
#include "tests/support/message_of.h"

namespace ttt::ablations {
namespace {

// Notes the thread on which each of its functions is called.
class Noting final : public Arm {
 public:
  explicit Noting(std::vector<std::thread::id>& threads) : threads_(threads) { note(); }
  ~Noting() override { note(); }
  std::vector<double> block(int steps) override {
    note();
    multithreaded = c10::AutogradState::get_tls_state().get_multithreading_enabled();
    if (steps < 0) throw Incorrect("no such block");
    return std::vector<double>(static_cast<std::size_t>(steps), 0.5);
  }
  const std::vector<harness::PhaseTimes>& phases() const override { return phases_; }
  result::Json describe() const override { return note(), result::Json{{"kind", "noting"}}; }
  const std::vector<double>& outputs() const override { return outputs_; }
  std::string place_of(std::size_t output) const override { return "place " + std::to_string(output); }
  comm::Communicator& control() override { throw Error("there is none"); }
  void start_counting() override { note(); }
  Counters usage() override { return note(), Counters{{"cpu_s", 1}}; }
  Counters operators(int steps) override { return note(), Counters{{"flops", steps}}; }
  static inline bool multithreaded = true;

 private:
  void note() const { threads_.push_back(std::this_thread::get_id()); }
  std::vector<std::thread::id>& threads_;
  std::vector<harness::PhaseTimes> phases_ = {{1, 2, 3, 4, 5, 6}};
  std::vector<double> outputs_ = {7};
};

TEST(OwnThread, Side_RunsOnItsOwnThread) {
  std::vector<std::thread::id> a_threads, b_threads;
  {
    OwnThreadArm a([&] { return std::make_unique<Noting>(a_threads); }),
        b([&] { return std::make_unique<Noting>(b_threads); });
    for (OwnThreadArm* arm : {&a, &b}) {
      EXPECT_EQ(arm->block(2), (std::vector<double>{0.5, 0.5}));
      arm->start_counting();
      EXPECT_EQ(arm->describe()["kind"], "noting");
      EXPECT_EQ(arm->usage().at("cpu_s"), 1);
      EXPECT_EQ(arm->operators(3).at("flops"), 3);
      EXPECT_EQ(arm->phases()[0][5], 6);
      EXPECT_EQ(arm->outputs()[0], 7);
      EXPECT_EQ(arm->place_of(4), "place 4");
    }
  }
  const std::set<std::thread::id> of_a(a_threads.begin(), a_threads.end()), of_b(b_threads.begin(), b_threads.end());
  EXPECT_EQ(a_threads.size(), 7u);
  ASSERT_EQ(of_a.size(), 1u);
  ASSERT_EQ(of_b.size(), 1u);
  EXPECT_NE(*of_a.begin(), *of_b.begin());
  EXPECT_NE(*of_a.begin(), std::this_thread::get_id());
  EXPECT_FALSE(Noting::multithreaded);  // its backward would run on threads that both sides share
  EXPECT_TRUE(c10::AutogradState::get_tls_state().get_multithreading_enabled());  // of this thread
}

TEST(OwnThread, ThrownThere_IsCaughtHere) {
  std::vector<std::thread::id> threads;
  OwnThreadArm arm([&] { return std::make_unique<Noting>(threads); });
  EXPECT_EQ(test::message_of<Incorrect>([&] { arm.block(-1); }), "no such block");
  EXPECT_EQ(arm.block(1).size(), 1u);
  EXPECT_EQ(test::message_of<NotSupported>(
                [] { OwnThreadArm none([]() -> std::unique_ptr<Arm> { throw NotSupported("not here"); }); }),
      "not here");
}

Ablation cudnn_autotune() {
  const auto all = all_ablations();
  return *std::find_if(all.begin(), all.end(), [](const Ablation& a) { return a.name == "cudnn_autotune"; });
}

// What every row of it would run on a GPU, on the host, where the setting changes nothing: the same numbers on both
// sides.
TEST(CudnnAutotune, EveryConvolutionCall_SameNumbers) {
  comm::World world(nullptr, nullptr);
  const harness::Options options;
  const harness::Launch launch;
  const std::string id = "test";
  const std::filesystem::path out = "none";
  result::RunRecorder recorder;
  result::RunClock clock;
  harness::SignalWatch signals;
  harness::Witness witness;
  const harness::RunContext context{options, launch, id, recorder, clock, signals, witness, {}, out};
  const Ablation a = cudnn_autotune();
  ASSERT_EQ(a.settings.size(), 4u);
  std::vector<std::vector<double>> of_known;
  for (std::size_t s = 1; s < a.settings.size(); ++s) {
    std::vector<std::unique_ptr<Arm>> sides;
    for (const Variant& v : a.variants) {
      train::Recipe recipe(eval::mask_rcnn());
      v.change(recipe);
      sides.push_back(a.settings[s].arm({recipe, world, context}));
      EXPECT_EQ(sides.back()->describe()["cudnn_autotune"], v.name == "on");
      for (int block = 0; block < 2; ++block)
        for (const double seconds : sides.back()->block(1)) EXPECT_GT(seconds, 0);
    }
    const std::vector<double> off = sides[0]->outputs();
    EXPECT_EQ(off, sides[1]->outputs());
    ASSERT_EQ(off.size(), 2u * 3);  // result and two gradients, of two blocks
    of_known.push_back(off);
  }
  const auto block_of = [](const std::vector<double>& outputs, std::size_t block) {
    return std::vector<double>(outputs.begin() + 3 * block, outputs.begin() + 3 * (block + 1));
  };
  EXPECT_EQ(block_of(of_known[0], 0), block_of(of_known[0], 1));
  EXPECT_EQ(of_known[1], of_known[0]);                            // the same call, on new threads
  EXPECT_NE(block_of(of_known[2], 0), block_of(of_known[2], 1));  // another shape
}

TEST(CudnnAutotune, Host_EveryRowNotSupported) {
  const Ablation a = cudnn_autotune();
  EXPECT_EQ(a.unsupported({.device = "cpu"}), "needs a GPU");
  EXPECT_EQ(a.unsupported({.device = "cuda"}), "");
}

}  // namespace
}  // namespace ttt::ablations
