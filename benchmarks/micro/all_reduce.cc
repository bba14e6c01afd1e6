// All-reduce over the buckets in which a model's gradients travel, blocking and by the progress thread. Peer: MPI_Allreduce on the same buffers. Each time is the slowest
// rank's, from a common start; the column CPU is the processor time of the whole process.
//   mpirun -n 2 ./micro_all_reduce [multiple]     (multiple: MPI_THREAD_MULTIPLE instead of SERIALIZED)
#include <unistd.h>

#include <mpi.h>

#include "comm/world.h"
#include "context.h"
#include "core/clock.h"
#include "models.h"
#include "overlap.h"
#include "train/reducers/reducer.h"

namespace ttt::micro {
namespace {

// Numbers of floats: each bucket of the recipe's reducer, in the order in which they are sent.
std::vector<std::size_t> buckets_of(const RecipeName& which, comm::Communicator& comm) {
  const train::Recipe recipe = recipe_of(which);
  const auto model = model_of(recipe);
  std::vector<std::int64_t> offsets;
  for (const model::Parameter* p : model->parameters().trainable()) offsets.push_back(p->offset);
  at::Tensor& flat = model->parameters().flat_gradients();
  const auto reducer = train::make_reducer(
      recipe.train.reducer, {.gradients = {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, .offsets = offsets, .comm = comm});
  const result::Json built = reducer->describe();
  std::vector<std::size_t> counts;
  if (!built.contains("bucket_bytes")) return {static_cast<std::size_t>(flat.numel())};  // one rank reduces nothing
  for (const auto& bytes : built.at("bucket_bytes")) counts.push_back(bytes.get<std::size_t>() / sizeof(float));
  return counts;
}

struct Buffers {
  std::vector<std::size_t> counts;
  std::vector<float> values;
  void fill(int rank) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(rank + 1) * static_cast<float>(i % 8);
  }
  // All values are small integers: every order of summation gives the same sum.
  bool holds_sum(int ranks) const {
    const float factor = static_cast<float>(ranks * (ranks + 1) / 2);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != factor * static_cast<float>(i % 8)) return false;
    return true;
  }
  template <class F>
  void each(F&& f) {
    float* at = values.data();
    for (const std::size_t n : counts) f(at, n), at += n;
  }
};

using Reduce = void (*)(comm::Communicator&, Buffers&);
void ours(comm::Communicator& comm, Buffers& b) {
  b.each([&](float* data, std::size_t n) { comm.all_reduce_sum(data, n); });
}
void ours_async(comm::Communicator& comm, Buffers& b) {
  std::vector<std::unique_ptr<comm::Work>> started;
  b.each([&](float* data, std::size_t n) { started.push_back(comm.all_reduce_sum_async(data, n)); });
  for (auto& work : started) work->wait();
}
void mpi(comm::Communicator&, Buffers& b) {
  b.each([](float* data, std::size_t n) { MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
}

// Ranks take the same decisions: whether a sum is right is agreed on, and the number of calls is fixed.
void run(benchmark::State& state, comm::Communicator& comm, Buffers& b, Reduce reduce) {
  b.fill(comm.rank());
  reduce(comm, b);
  double wrong = b.holds_sum(comm.size()) ? 0 : 1;
  comm.all_reduce_max(&wrong, 1);
  if (wrong > 0) return state.SkipWithError("all_reduce: the sum is wrong");
  std::fill(b.values.begin(), b.values.end(), 0.0f);  // sums of sums would overflow
  for (auto _ : state) {
    comm.barrier();
    const double begin = now_s();
    reduce(comm, b);
    double took = now_s() - begin;
    comm.all_reduce_max(&took, 1);
    state.SetIterationTime(took);
  }
  const double ranks = comm.size(), bytes = static_cast<double>(b.values.size() * sizeof(float));
  const double calls = static_cast<double>(state.iterations());
  state.counters["bus_bytes/s"] = benchmark::Counter(2 * (ranks - 1) / ranks * bytes * calls, benchmark::Counter::kIsRate, benchmark::Counter::kIs1024);
  state.SetLabel(std::to_string(comm.size()) + " ranks, " + std::to_string(b.counts.size()) + " calls, " + std::to_string(static_cast<long long>(bytes)) +
                 " bytes; bus bandwidth: 2 (n - 1) / n x bytes / time");
}

class Silent : public benchmark::BenchmarkReporter {  // of the ranks other than 0
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void add(comm::Communicator& comm, const std::string& shape, std::vector<std::size_t> counts, std::int64_t iterations) {
  auto buffers = std::make_shared<Buffers>();
  buffers->counts = std::move(counts);
  std::size_t total = 0;
  for (const std::size_t n : buffers->counts) total += n;
  for (const auto& [side, reduce] : {std::pair<const char*, Reduce>{"ours", ours}, {"ours_async", ours_async}, {"mpi", mpi}})
    benchmark::RegisterBenchmark(("all_reduce/" + shape + "/" + side).c_str(),
                                 [&comm, buffers, total, reduce = reduce](benchmark::State& state) {
                                   buffers->values.resize(total);
                                   run(state, comm, *buffers, reduce);
                                 })
        ->UseManualTime()->MeasureProcessCPUTime()->Iterations(iterations)->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace ttt::micro

int main(int argc, char** argv) {
  using namespace ttt::micro;
  using ttt::comm::ThreadLevel;
  const bool multiple = argc > 1 && std::string(argv[1]) == "multiple";
  if (multiple) argv[1] = argv[0], ++argv, --argc;
  ttt::comm::World world(&argc, &argv, {.thread_level = multiple ? ThreadLevel::kMultiple : ThreadLevel::kSerialized});
  const auto comm = world.communicator();
  add_context();
  benchmark::AddCustomContext("ranks", std::to_string(world.size()));
  benchmark::AddCustomContext("mpi", world.library() + ", thread level " + world.thread_level());
  // mpirun gives ranks a pseudo-terminal as stdout even when its own output goes to a file: stderr tells.
  std::string no_colour = "--benchmark_color=false";
  std::vector<char*> arguments(argv, argv + argc);
  if (!isatty(STDERR_FILENO)) arguments.insert(arguments.begin() + 1, no_colour.data()), ++argc;
  arguments.push_back(nullptr);
  argv = arguments.data();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const std::size_t kib : {std::size_t{4}, std::size_t{64}, std::size_t{1024}, std::size_t{16384}})
    add(*comm, std::to_string(kib) + "KiB", {kib << 8}, kib > 4096 ? 10 : 50);
  for (const RecipeName& r : kRecipes) add(*comm, std::string(r.name) + "_buckets", buckets_of(r, *comm), 5);
  add_overlap(*comm);
  Silent silent;
  if (world.rank() == 0) benchmark::RunSpecifiedBenchmarks();
  else benchmark::RunSpecifiedBenchmarks(&silent);
  benchmark::Shutdown();
}
