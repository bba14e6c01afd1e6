// Output of Google Benchmark programs (--benchmark_format=json) as a table.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/document.h"
#include "settings/json.h"

namespace ttt::reports {

// One benchmark: all its repetitions. Times in seconds per iteration, whatever unit the file has.
struct Benchmark {
  std::string name;
  std::vector<double> real_s, cpu_s, iterations;        // one entry per repetition
  std::map<std::string, std::vector<double>> counters;  // items_per_second, bytes_per_second and the program's own
  bool aggregated = false;  // one value, the program's own median: it was run with --benchmark_report_aggregates_only
  std::string remark;       // its label, or why there are no times
};

struct BenchFile {
  std::string name;
  result::Json context = result::Json::object();
  std::vector<Benchmark> benchmarks;
};

// Whether it is such a file at all: an object with "context" and "benchmarks".
bool is_bench(const result::Json& document);

// Throws DataError naming the benchmark and the member that is missing or wrong.
BenchFile bench_from_json(const result::Json& document, const std::string& name);

// How many times as fast ours is as the fastest peer, in one sentence. "" where the file has no peer.
std::string bench_answer(const BenchFile& file);

// One block for each file: medians over repetitions, counters in columns.
Document bench(const std::vector<BenchFile>& files);

}  // namespace ttt::reports
