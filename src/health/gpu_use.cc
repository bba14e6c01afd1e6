#include "health/gpu_use.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "comm/text.h"

namespace ttt::train {
namespace {

constexpr double kWorthTelling = 0.01;  // of the looks: less does not show in a time

// Of what was told; nothing where nothing was.
template <class Of> std::optional<result::Spread> spread(const std::vector<cuda::GpuMoment>& looks, Of of) {
  double least = 0, most = 0, sum = 0;
  std::int64_t told = 0;
  for (const cuda::GpuMoment& look : looks) {
    const double value = static_cast<double>(of(look));
    if (value < 0) continue;
    least = told == 0 ? value : std::min(least, value), most = std::max(most, value), sum += value;
    ++told;
  }
  if (told == 0) return std::nullopt;
  return result::Spread{least, sum / static_cast<double>(told), most};
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

result::GpuRecord GpuUse::own() const {
  result::GpuRecord g{.rank = comm_.rank(), .node = names_.node, .gpu = names_.gpu, .looks = std::ssize(looks_)};
  for (const cuda::GpuMoment& look : looks_)
    for (const std::string& reason : look.slowed_by) ++g.slowed_by[reason];
  for (auto& [reason, share] : g.slowed_by) share /= static_cast<double>(looks_.size());
  g.power_w = spread(looks_, [](const cuda::GpuMoment& m) { return m.power_w; });
  g.sm_clock_mhz = spread(looks_, [](const cuda::GpuMoment& m) { return m.sm_clock_mhz; });
  g.busy_percent = spread(looks_, [](const cuda::GpuMoment& m) { return m.busy_percent; });
  g.temperature_c = spread(looks_, [](const cuda::GpuMoment& m) { return m.temperature_c; });
  g.memory_bytes = spread(looks_, [](const cuda::GpuMoment& m) { return m.memory_bytes; });
  if (energy_begin_j_ >= 0 && energy_end_j_ >= energy_begin_j_) g.energy_j = energy_end_j_ - energy_begin_j_;
  return g;
}

void GpuUse::run_ended(const Ending&) {
  stop();
  energy_end_j_ = meter_->energy_j();
  result::GpusRecord gpus{.every_s = every_s_, .energy_j = 0};
  for (const std::string& text : comm::texts_of_all(comm_, result::json_of(own()).dump())) {
    const auto& rank =
        gpus.ranks.emplace_back(result::record_from_json<result::GpuRecord>(result::Json::parse(text), "gpus"));
    if (!rank.energy_j) gpus.energy_j.reset();
    if (gpus.energy_j) *gpus.energy_j += *rank.energy_j;
    for (const auto& [reason, share] : rank.slowed_by)
      if (share >= kWorthTelling)
        recorder_.warn("The GPU of rank " + std::to_string(rank.rank) + " on node " + rank.node + " was slowed down (" +
                       reason + ") in " + std::to_string(static_cast<int>(100 * share + 0.5)) +
                       " % of the looks at it: the times of this run are not those of a device in order.");
  }
  if (gpus.energy_j && images_ > first_images_)
    gpus.joules_per_image = *gpus.energy_j / static_cast<double>(images_ - first_images_);
  recorder_.update([&](result::RunRecord& r) { r.health.gpus = std::move(gpus); });
}

}  // namespace ttt::train
