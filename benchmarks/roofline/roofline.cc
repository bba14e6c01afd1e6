// Measures this machine's ceilings as a training run would meet them: mpirun -n 2 ./roofline, then report show FILE.
#include <ATen/Parallel.h>

#include "app/app.h"
#include "app/progress.h"
#include "comm/world.h"
#include "core/text.h"
#include "measure/peaks.h"
#include "run/assemble.h"
#include "run/launch.h"
#include "settings/fields.h"

namespace {

using namespace ttt;

struct RooflineRecipe {
  double seconds_each = 2;
  std::int64_t threads = 0;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("seconds_each", s.seconds_each, "of measuring for each peak", between(1e-3, 3600));
    v("threads", s.threads,
        "threads of a rank's tensor operations, as train.threads; 0: cores of the node / ranks on it",
        between(0, 1024));
  }
};

harness::Outcome measure(const RooflineRecipe& recipe, harness::RunContext& context, const comm::World& world) {
  make_mkl_reproducible();  // as in a training
  const int threads = threads_of_rank(recipe.threads, world.team());
  at::set_num_threads(threads);
  const auto comm = world.communicator();
  context.recorder.update([&](result::RunRecord& r) {
    r.built = {
        {"communicator", comm->name()}, {"ranks", comm->size()}, {"threads_per_rank", threads}, {"device", "cpu"}};
  });
  context.announce(result::counted(comm->size(), "rank") + " of " + result::counted(threads, "thread"));
  harness::StatusLine line({.enabled = world.rank() == 0 && !context.options.quiet});
  context.clock.start_run();
  const auto peaks = roofline::measure_peaks(
      *comm, {.seconds_each = recipe.seconds_each,
                 .ranks_of_node = world.local_size(),
                 .starts = [&](const std::string& peak) { line.show("measuring " + peak + " ...", true); }});
  context.clock.end_run();
  context.recorder.update([&](result::RunRecord& r) { r.peaks = peaks; });
  return {.verdict = result::Verdict::kPassed, .reason = std::to_string(peaks.size()) + " peaks measured"};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<RooflineRecipe> app{.name = "roofline",
      .summary = "Measures what this machine gives at best: matrix products, convolution, memory, all-reduce.",
      .kind = "roofline",
      .shortcuts = {.seed = "", .device = ""},
      .libraries = library_versions(world)};
  app.run = [&](const RooflineRecipe& recipe, harness::RunContext& context) { return measure(recipe, context, world); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
