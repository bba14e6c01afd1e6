#include "measure/arm.h"

#include <sys/resource.h>

#include "measure/op_counter.h"

namespace ttt::ablations {

Usage Usage::now() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {.cpu_s = seconds(u.ru_utime) + seconds(u.ru_stime),
      .page_faults = static_cast<double>(u.ru_minflt + u.ru_majflt),
      .preemptions = static_cast<double>(u.ru_nivcsw),
      .sent_bytes = static_cast<double>(comm::sent_bytes())};
}

Usage& Usage::operator+=(const Usage& other) {
  cpu_s += other.cpu_s, page_faults += other.page_faults, preemptions += other.preemptions;
  sent_bytes += other.sent_bytes;
  return *this;
}

Counters Usage::per(std::int64_t steps) const {
  const double n = static_cast<double>(std::max<std::int64_t>(1, steps));
  return {{"cpu_s", cpu_s / n}, {"page_faults", page_faults / n}, {"preemptions", preemptions / n},
      {"sent_bytes", sent_bytes / n}};
}

Counters operators_of(int steps, const std::function<void()>& work) {
  roofline::OpCounts counts;
  {
    const roofline::OpCounter counter;
    work();
    counts = counter.counts();
  }
  const auto mean = [&](std::int64_t n) { return static_cast<double>(n) / steps; };
  return {{"operator_calls", mean(counts.calls)}, {"flops", mean(counts.flops)},
      {"sync_points", mean(counts.sync_total())}, {"allocations", mean(counts.allocations)},
      {"allocated_bytes", mean(counts.allocated_bytes)}, {"peak_bytes", static_cast<double>(counts.peak_bytes)}};
}

Counters sum_over_ranks(const Counters& mine, comm::Communicator& comm) {
  std::vector<double> values;
  for (const auto& [name, value] : mine) values.push_back(value);
  comm.all_reduce_sum(values.data(), values.size());
  Counters out;
  std::size_t i = 0;
  for (const auto& [name, value] : mine) out[name] = values[i++];
  return out;
}

}  // namespace ttt::ablations
