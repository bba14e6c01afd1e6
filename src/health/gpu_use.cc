#include "health/gpu_use.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "comm/text.h"

namespace ttt::train {
namespace {

constexpr double kWorthTelling = 0.01;  // of the looks: less does not show in a time

// {least, mean, most} of what was told; null where nothing was.
template <class Of> result::Json spread(const std::vector<cuda::GpuMoment>& looks, Of of) {
  double least = 0, most = 0, sum = 0;
  std::int64_t told = 0;
  for (const cuda::GpuMoment& look : looks) {
    const double value = static_cast<double>(of(look));
    if (value < 0) continue;
    least = told == 0 ? value : std::min(least, value), most = std::max(most, value), sum += value;
    ++told;
  }
  if (told == 0) return nullptr;
  return {{"least", least}, {"mean", sum / static_cast<double>(told)}, {"most", most}};
}

}  // namespace

GpuUse::GpuUse(std::unique_ptr<cuda::GpuMeter> meter, double every_s, Names names, comm::Communicator& comm,
    result::RunRecorder& recorder)
    : meter_(std::move(meter)), every_s_(every_s), names_(std::move(names)), comm_(comm), recorder_(recorder) {}

GpuUse::~GpuUse() { stop(); }

void GpuUse::run_started(const Position& at) {
  first_images_ = images_ = at.images;
  energy_begin_j_ = meter_->energy_j();
  looks_.push_back(meter_->look());
  thread_ = std::thread([this] { watch(); });
}

void GpuUse::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(every_s_), [this] { return stopping_; })) {
    lock.unlock();
    cuda::GpuMoment look = meter_->look();
    lock.lock();
    looks_.push_back(std::move(look));
  }
}

void GpuUse::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

result::Json GpuUse::own() const {
  std::map<std::string, double> slowed;
  for (const cuda::GpuMoment& look : looks_)
    for (const std::string& reason : look.slowed_by) ++slowed[reason];
  for (auto& [reason, share] : slowed) share /= static_cast<double>(looks_.size());
  result::Json j = {{"rank", comm_.rank()}, {"node", names_.node}, {"gpu", names_.gpu}, {"looks", looks_.size()},
      {"slowed_by", slowed}};
  const auto add = [&](const char* key, result::Json value) {
    if (!value.is_null()) j[key] = std::move(value);
  };
  add("power_w", spread(looks_, [](const cuda::GpuMoment& m) { return m.power_w; }));
  add("sm_clock_mhz", spread(looks_, [](const cuda::GpuMoment& m) { return m.sm_clock_mhz; }));
  add("busy_percent", spread(looks_, [](const cuda::GpuMoment& m) { return m.busy_percent; }));
  add("temperature_c", spread(looks_, [](const cuda::GpuMoment& m) { return m.temperature_c; }));
  add("memory_bytes", spread(looks_, [](const cuda::GpuMoment& m) { return m.memory_bytes; }));
  if (energy_begin_j_ >= 0 && energy_end_j_ >= energy_begin_j_) j["energy_j"] = energy_end_j_ - energy_begin_j_;
  return j;
}

void GpuUse::run_ended(const Ending&) {
  stop();
  energy_end_j_ = meter_->energy_j();
  result::Json ranks = result::Json::array();
  double energy_j = 0;
  bool all_told = true;
  for (const std::string& text : comm::texts_of_all(comm_, own().dump())) {
    result::Json rank = result::Json::parse(text);
    all_told = all_told && rank.contains("energy_j");
    energy_j += rank.value("energy_j", 0.0);
    for (const auto& [reason, share] : rank["slowed_by"].items())
      if (share.get<double>() >= kWorthTelling)
        recorder_.warn("The GPU of rank " + rank["rank"].dump() + " on node " + rank["node"].get<std::string>() +
                       " was slowed down (" + reason + ") in " +
                       std::to_string(static_cast<int>(100 * share.get<double>() + 0.5)) +
                       " % of the looks at it: the times of this run are not those of a device in order.");
    ranks.push_back(std::move(rank));
  }
  result::Json gpus = {{"every_s", every_s_}, {"ranks", ranks}};
  if (all_told) {
    gpus["energy_j"] = energy_j;
    if (images_ > first_images_) gpus["joules_per_image"] = energy_j / static_cast<double>(images_ - first_images_);
  }
  recorder_.update([&](result::RunRecord& r) { r.health["gpus"] = gpus; });
}

}  // namespace ttt::train
