// A program with the life of a real one and no work: app_test starts it, alone and under mpirun, and lets it fail in
// every way. It uses no MPI; under mpirun the ranks meet through files in the folder that TOY_SHARE names.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "app/app.h"
#include "app/progress.h"
#include "core/error.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt {
namespace {

struct Recipe {
  std::string mode = "pass";
  std::int64_t seed = 1;
  std::int64_t steps = 8;
  std::int64_t rank = 0;
  double step_s = 0.0;
  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("mode", s.mode, "what to do",
        one_of({"pass", "not_converged", "throw", "nan", "unsupported", "bug", "all_throw", "hang", "kill",
            "remove_folder", "lost", "early", "slow", "witness", "give_up", "refuse"}));
    v("seed", s.seed, "seed", between(0, 1e9));
    v("steps", s.steps, "steps to run", between(0, 1e6));
    v("rank", s.rank, "the rank that does it", between(0, 64));
    v("step_s", s.step_s, "length of a step [s]", between(0, 60));
  }
};

void sleep_s(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

int env_int(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

// Collectives through files: the n-th text of rank r is the file "n.r".
class Files {
 public:
  Files(std::string folder, int rank, int size) : folder_(std::move(folder)), rank_(rank), size_(size) {}
  std::string from_root(const std::string& text) {
    const int n = next_++;
    if (rank_ == 0) put(n, text);
    return size_ == 1 ? text : get(n, 0);
  }
  std::vector<std::string> gather(const std::string& text) {
    const int n = next_++;
    put(n, text);
    std::vector<std::string> all;
    for (int r = 0; r < size_ && rank_ == 0; ++r) all.push_back(get(n, r));
    return all;
  }

 private:
  std::string name(int n, int rank) const { return folder_ + "/" + std::to_string(n) + "." + std::to_string(rank); }
  void put(int n, const std::string& text) {
    if (size_ == 1) own_ = text;
    else
      test::write_text(name(n, rank_) + ".new", text), std::filesystem::rename(name(n, rank_) + ".new", name(n, rank_));
  }
  std::string get(int n, int rank) {
    if (size_ == 1) return own_;
    while (!std::filesystem::exists(name(n, rank))) sleep_s(0.01);
    return test::read_text(name(n, rank));
  }
  std::string folder_, own_;
  int rank_, size_, next_ = 0;
};

harness::Outcome run(const Recipe& recipe, harness::RunContext& context) {
  const bool mine = context.launch.rank == recipe.rank;
  context.recorder.update([](result::RunRecord& r) {
    r.target = test::kToyTarget, r.steps.name_losses(test::kToyLosses), r.data = {{"train_images", 64}};
  });
  if (recipe.mode == "refuse") throw UsageError("There is no ablation 'nosuch'. Name one that --list shows.");
  if (recipe.mode == "early") throw std::logic_error("nothing was said yet");
  context.announce("a toy's data");
  context.clock.start_run();
  const harness::Witness::Scope knows(
      context.witness, [&] { return recipe.mode == "witness" ? "Rank 7 is silent." : ""; });
  harness::Progress progress({.enabled = context.launch.rank == 0 && !context.options.quiet});
  for (std::int64_t step = 0; step < recipe.steps; ++step) {
    if (context.signals.requested())
      throw Interrupted("Interrupted by " + context.signals.name() + " after step " + std::to_string(step) + ".");
    sleep_s(recipe.step_s);
    result::StepSample sample = test::toy_step(step);
    if (recipe.mode == "nan" && step == 4) sample.loss[1] = std::nan("");
    if (!context.recorder.step(sample)) throw Incorrect("The loss is not finite in step 4. Lower solver.lr.");
    progress.update({.step = step + 1, .total_steps = recipe.steps, .loss = 1, .images = (step + 1) * 16});
    if (step != 4) continue;
    if (recipe.mode == "throw" && mine) throw DataError("shard_003.h5 is truncated. Pack it again.");
    if (recipe.mode == "all_throw") throw DataError("All ranks see this. Do something.");
    if (recipe.mode == "unsupported" && mine) throw NotSupported("No GPU here. Use --device cpu.");
    if (recipe.mode == "bug" && mine) throw std::logic_error("first line\nframe 0\nframe 1");
    if (recipe.mode == "kill" && mine) ::kill(::getpid(), SIGKILL);
    if ((recipe.mode == "remove_folder" || recipe.mode == "lost") && mine)
      std::filesystem::remove_all(std::filesystem::path(context.options.out).parent_path());
    if (recipe.mode == "lost" && mine) throw Incorrect("A number is wrong.");
    // A collective that waits for a rank that is gone. Bounded, so that a broken test leaves nothing behind.
    if (recipe.mode == "give_up" && mine)
      std::thread([&] { context.give_up("No rank has made progress. Look at rank 7."); }).detach();
    if (recipe.mode == "hang" || recipe.mode == "witness" || recipe.mode == "give_up" || recipe.mode == "kill" ||
        (recipe.mode == "throw" && !mine))
      sleep_s(30);
  }
  context.clock.end_run();
  if (recipe.mode != "not_converged") {
    context.recorder.evaluation({.epoch = 1, .step = recipe.steps, .metrics = {{"bbox.AP", 0.6}, {"segm.AP", 0.6}}});
  }
  if (recipe.mode == "not_converged") return {result::Verdict::kNotConverged, "box AP 0.4 < 0.5 after 2 epochs"};
  return {result::Verdict::kPassed, "target reached"};
}

}  // namespace
}  // namespace ttt

int main(int argc, char** argv) {
  using namespace ttt;
  const char* share = std::getenv("TOY_SHARE");
  harness::Launch launch;
  launch.rank = env_int("OMPI_COMM_WORLD_RANK", 0), launch.size = env_int("OMPI_COMM_WORLD_SIZE", 1);
  Files files(share ? share : ".", launch.rank, launch.size);
  launch.from_root = [&](const std::string& text) { return files.from_root(text); };
  launch.gather = [&](const std::string& text) { return files.gather(text); };
  launch.grace_s = env_int("TOY_GRACE_S", static_cast<int>(launch.grace_s));
  launch.abort = [](int code) { ::_exit(code); };  // mpirun ends the others
  harness::App<Recipe> app;
  app.name = "toy", app.summary = "A toy", app.run = run;
  app.recipes = {{"default", ""}, {"quick", "steps = 2\n"}};
  app.validate = [](const Recipe& r) {
    if (r.mode == "slow" && r.steps == 0) throw UsageError("'mode' slow contradicts 'steps' 0. Change one of the two.");
  };
  return harness::run_app(argc, argv, app, launch);
}
