#include "reports/inputs.h"

#include "core/error.h"
#include "settings/json.h"
#include "result/result_file.h"
#include "core/text.h"

namespace ttt::reports {

Input read_input(const std::string& file) {
  std::string text = result::read_text(file);
  const std::string name = result::quote(file);
  const result::Json document = result::parse(text, name);
  if (document.is_object() && document.contains("schema_version")) {
    NamedRun run{file, result::parse_result(text, name)};
    return ResultFile{std::move(run), std::move(text)};
  }
  if (is_bench(document)) return BenchInput{bench_from_json(document, file), std::move(text)};
  throw DataError(name + " is neither a result of this suite (no schema_version) nor output of Google Benchmark (no context and benchmarks). " +
                  "Name a file that a run wrote with --out, or one made with --benchmark_format=json.");
}

Inputs read_inputs(const std::vector<std::string>& files) {
  Inputs all;
  for (const std::string& file : files) {
    try {
      Input input = read_input(file);
      if (auto* r = std::get_if<ResultFile>(&input))
        all.results.push_back(std::move(*r));
      else
        all.benches.push_back(std::move(std::get<BenchInput>(input)));
    } catch (const Error& e) {
      all.left_out.push_back({file, e.what(), e.exit_code()});
    }
  }
  return all;
}

}  // namespace ttt::reports
