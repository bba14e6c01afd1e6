// micro_all_reduce: our all-reduce beside MPI_Allreduce over a sweep of sizes, as the table of nccl-tests.
//   mpirun -n 2 ./micro_all_reduce -b 8 -e 256M -f 2
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "all_reduce_table.h"
#include "app/tool.h"
#include "comm/world.h"
#include "context_json.h"
#include "core/error.h"
#include "core/text.h"
#include "core/whole_file.h"
#include "overlap.h"
#include "result/result_file.h"

namespace ttt::micro {
namespace {

constexpr const char* kThreadMultiple = "--thread-multiple";

struct Options {
  std::size_t first = 8, last = 256 << 20, factor = 2;
  Timing timing;
  std::string buckets, out;
  bool overlap = false, thread_multiple = false;
};

void declare(CLI::App& app, Options& o) {
  const CLI::AsSizeValue size(/*kb_is_1000=*/false);
  const CLI::Range bytes(sizeof(float), std::size_t{1} << 32);
  app.add_option("-b,--minbytes", o.first, "least size: 8, 64K, 32M, 1G")->transform(size)->check(bytes);
  app.add_option("-e,--maxbytes", o.last, "largest size (default 256M)")->transform(size)->check(bytes);
  app.add_option("-f,--stepfactor", o.factor, "between sizes")->check(CLI::Range(2, 1024))->capture_default_str();
  app.add_option("-n,--iters", o.timing.iterations, "calls that a round times")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--rounds", o.timing.rounds, "rounds, in which ours and MPI_Allreduce take turns; 4 give intervals")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--buckets", o.buckets, "result of a run with reducer bucketed: its gradients' buckets as more rows");
  app.add_flag("--overlap", o.overlap, "what a started all-reduce costs a computation beside it, as more lines");
  app.add_flag(kThreadMultiple, o.thread_multiple, "MPI_THREAD_MULTIPLE instead of MPI_THREAD_SERIALIZED");
  app.add_option("--out", o.out, "JSON file for report bench, as Google Benchmark writes it");
  app.footer(
      "time, algbw, busbw and #wrong are nccl-tests': algbw = size / time, busbw = algbw * 2 (n - 1) / n for n ranks.\n"
      "A time is the median over the rounds of the mean over their calls. A call takes until its slowest rank is "
      "done.");
}

std::vector<std::size_t> buckets_of(const std::string& file) {
  const result::Json built = result::read_result(file).built;
  const result::Json bytes = built.value(result::Json::json_pointer("/reducer/bucket_bytes"), result::Json::array());
  if (bytes.empty())
    throw UsageError("'" + file +
                     "' has no buckets: its run did not reduce in buckets. Name the result of one with "
                     "--set train.reducer=bucketed on two ranks or more.");
  std::vector<std::size_t> counts;
  for (const auto& n : bytes) counts.push_back(n.get<std::size_t>() / sizeof(float));
  return counts;
}

std::string json_text(const comm::World& world, const AllReduceTable& table) {
  result::Json context = context_json();
  context["executable"] = "micro_all_reduce", context["date"] = result::utc_now();
  context["ranks"] = world.size(), context["mpi"] = world.library() + ", thread level " + world.thread_level();
  return result::dump({{"context", context}, {"benchmarks", table.entries()}}) + "\n";
}

// `accepted` is called once the arguments are.
harness::Answer run(
    const Options& o, const comm::World& world, const Start& start, const std::function<void()>& accepted) {
  if (o.first > o.last) throw UsageError("--minbytes is larger than --maxbytes. Exchange them.");
  const std::vector<std::size_t> buckets = o.buckets.empty() ? std::vector<std::size_t>() : buckets_of(o.buckets);
  accepted();
  const auto comm = world.communicator();
  AllReduceTable table(*comm, o.timing);
  start(result::counted(world.size(), "rank") + ", " + world.library());
  std::printf("# minBytes %zu maxBytes %zu step: %zu(factor) warmup iters: 1 iters: %d rounds: %d validation: 1\n",
      o.first, o.last, o.factor, o.timing.iterations, o.timing.rounds);
  AllReduceTable::print_header();
  for (std::size_t bytes = o.first; bytes <= o.last; bytes *= o.factor) table.add_size(bytes);
  if (!buckets.empty()) table.add_buckets(buckets);
  if (o.overlap) table.add_lines("overlap", overlap_sides(*comm));
  table.print_end();
  harness::Answer answer{.sentence = world.size() > 1 ? peer_answer(table.ratios()) : "One rank: nothing travels.",
      .figures = {{"all_reduce_busbw", table.average_bus_bandwidth(), "GB/s"}}};
  if (const auto ratios = table.ratios(); !ratios.empty())
    answer.figures.push_back({"all_reduce_ours_over_mpi", geometric_mean(ratios), "x"});
  if (!o.out.empty() && world.rank() == 0) {
    write_whole_file(o.out, json_text(world, table));
    answer.files = {o.out}, answer.next = "report bench " + o.out;
  }
  if (table.wrong() > 0) answer.verdict = result::Verdict::kIncorrect, answer.exit_code = 5;
  return answer;
}

}  // namespace
}  // namespace ttt::micro

int main(int argc, char** argv) {
  using namespace ttt;
  const bool multiple = std::find(argv, argv + argc, std::string_view(micro::kThreadMultiple)) != argv + argc;
  const comm::World world(
      &argc, &argv, {.thread_level = multiple ? comm::ThreadLevel::kMultiple : comm::ThreadLevel::kSerialized});
  // Rank 0 speaks, and says what is wrong with arguments that all ranks share.
  const int errors = dup(STDERR_FILENO);
  if (world.rank() != 0 && (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)))
    return 1;
  CLI::App app("Our all-reduce of float32 beside MPI_Allreduce, as the table of nccl-tests.", "micro_all_reduce");
  micro::Options options;
  micro::declare(app, options);
  return run_tool(app, argc, argv,
      [&](const Start& start) { return micro::run(options, world, start, [&] { dup2(errors, STDERR_FILENO); }); });
}
