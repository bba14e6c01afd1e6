// micro: one operation at a time, beside a peer, on one thread. micro --benchmark_filter=nms; micro
// --benchmark_list_tests
// links: ttt_app
#include <algorithm>
#include <iostream>
#include <sstream>

#include "app/output.h"
#include "context.h"
#include "result/peer_ratio.h"

namespace {

// Output of the library for --benchmark_out, and the rates of all sides. `table`: standard output is for people.
class Rates : public benchmark::JSONReporter {
 public:
  explicit Rates(bool table) : table_(table) {}
  bool ReportContext(const Context& context) override {
    if (table_) ttt::harness::print_start("micro", "one thread");
    std::ostringstream text;
    std::ostream& file = GetOutputStream();
    SetOutputStream(&text);
    const bool go = JSONReporter::ReportContext(context);
    SetOutputStream(&file);
    file << text.str();
    if (text.str().find("\"library_build_type\": \"debug\"") != std::string::npos)
      std::cerr << "(DEBUG is the benchmark library, as Debian packages it. This program is not: build_type above.)\n";
    return go;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    JSONReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      failed |= run.error_occurred;
      if (run.run_type == Run::RT_Iteration && !run.error_occurred)
        for (const auto& [unit, rate] : run.counters) ratios.add(run.benchmark_name(), unit, rate);
    }
  }
  ttt::result::PeerRatios ratios;
  bool failed = false;

 private:
  bool table_;
};

}  // namespace

int main(int argc, char** argv) {
  ttt::micro::add_context();
  std::string nowhere = "--benchmark_out=/dev/null";  // without a file the library takes no second reporter
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, nowhere.data());
  arguments.push_back(nullptr);
  // Else standard output is JSON or a list of names.
  const bool table = std::none_of(argv + 1, argv + argc, [](const std::string& argument) {
    return argument.starts_with("--benchmark_list_tests") || argument == "--benchmark_format=json" ||
           argument == "--benchmark_format=csv";
  });
  int count = argc + 1;
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  Rates rates(table);
  if (benchmark::RunSpecifiedBenchmarks(nullptr, &rates) == 0) return 2;
  benchmark::Shutdown();
  const auto rows = rates.ratios.rows();
  ttt::harness::Answer answer{.sentence = peer_answer(rows)};
  if (!rows.empty()) answer.figures = {{"micro_ours_over_peer", geometric_mean(rows), "x"}};
  if (rates.failed) answer.verdict = ttt::result::Verdict::kIncorrect, answer.exit_code = 5;
  if (table) ttt::harness::print_end(answer);
  else if (!rows.empty()) std::cerr << answer.sentence << "\n";
  return answer.exit_code;
}
