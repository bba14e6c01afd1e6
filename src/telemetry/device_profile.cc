#include "telemetry/device_profile.h"

#include <algorithm>

#include "comm/text.h"

namespace ttt::train {
namespace {

constexpr std::size_t kKept = 40;  // kernels, those of the most time

result::Json json_of(const cuda::ActivityReport& r, std::int64_t steps) {
  result::Json sums = result::Json::array();
  for (std::size_t i = 0; i < std::min(kKept, r.sums.size()); ++i)
    sums.push_back({{"name", r.sums[i].name}, {"calls", r.sums[i].calls}, {"total_s", r.sums[i].seconds}});
  double total_s = 0;
  for (const cuda::ActivitySum& sum : r.sums) total_s += sum.seconds;
  return {{"steps", steps}, {"window_s", r.window_s}, {"busy_s", r.busy_s}, {"total_s", total_s},
      {"kernels", r.kernels}, {"copies_and_fills", r.others}, {"lost", r.lost}, {"longest", std::move(sums)}};
}

}  // namespace

void DeviceProfile::step_starts(const Position& at) {
  if (at.step != from_) return;
  log_.start();
  started_ = true;
}

void DeviceProfile::step_ended(const Position& at, const result::StepSample&) {
  if (!started_ || at.step != from_ + steps_) return;
  own_ = json_of(cuda::summarise(log_.stop()), steps_);
  started_ = false;
}

void DeviceProfile::run_ended(const Ending&) {
  if (started_) log_.stop();  // the run is over before the steps are
  started_ = false;
  if (own_.is_null()) {
    recorder_.warn("There is no profile of the device: the run ended before step " + std::to_string(from_ + steps_) +
                   " (train.trace_from + train.profile_steps).");
    return;
  }
  own_["rank"] = comm_.rank();
  result::Json ranks = result::Json::array();
  for (const std::string& text : comm::texts_of_all(comm_, own_.dump())) ranks.push_back(result::Json::parse(text));
  recorder_.update([&](result::RunRecord& r) { r.health["profile"] = {{"from", from_}, {"ranks", ranks}}; });
}

}  // namespace ttt::train
