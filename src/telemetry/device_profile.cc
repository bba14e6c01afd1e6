#include "telemetry/device_profile.h"

#include "comm/text.h"

namespace ttt::train {
namespace {

constexpr std::size_t kKept = 40;  // kernels, those of the most time

result::RankProfile profile_of(const cuda::ActivityReport& r, std::int64_t steps) {
  result::RankProfile p{.steps = steps, .window_s = r.window_s, .busy_s = r.busy_s};
  p.kernels = r.kernels, p.copies_and_fills = r.others, p.lost = r.lost;
  for (const cuda::ActivitySum& sum : r.sums) {
    p.total_s += sum.seconds;
    if (p.longest.size() < kKept) p.longest.push_back({sum.name, sum.calls, sum.seconds});
  }
  return p;
}

}  // namespace

void DeviceProfile::step_starts(const Position& at) {
  if (at.step != from_) return;
  log_.start();
  started_ = true;
}

void DeviceProfile::step_ended(const Position& at, const result::StepSample&) {
  if (!started_ || at.step != from_ + steps_) return;
  own_ = profile_of(cuda::summarise(log_.stop()), steps_);
  started_ = false;
}

void DeviceProfile::run_ended(const Ending&) {
  if (started_) log_.stop();  // the run is over before the steps are
  started_ = false;
  if (!own_) {
    recorder_.warn("There is no profile of the device: the run ended before step " + std::to_string(from_ + steps_) +
                   " (train.trace_from + train.profile_steps).");
    return;
  }
  own_->rank = comm_.rank();
  result::ProfileRecord profile{.from = from_};
  for (const std::string& text : comm::texts_of_all(comm_, result::json_of(*own_).dump()))
    profile.ranks.push_back(result::record_from_json<result::RankProfile>(result::Json::parse(text), "profile"));
  recorder_.update([&](result::RunRecord& r) { r.health.profile = std::move(profile); });
}

}  // namespace ttt::train
