// micro: one operation at a time, beside a peer, on one thread. micro --benchmark_filter=nms; micro
// --benchmark_list_tests
// links: ttt_result
#include "context.h"

int main(int argc, char** argv) {
  ttt::micro::add_context();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
