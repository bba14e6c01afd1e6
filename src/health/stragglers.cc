#include "health/stragglers.h"

#include <algorithm>
#include <cstdio>

#include "result/phase_clock.h"

namespace ttt::train {
namespace {

// The lower of two.
double middle(std::vector<double> v) {
  const auto at = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) / 2);
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

std::string warning(int rank, const std::string& node, const Position& at, std::int64_t window, double index,
    double own_s, double middle_s) {
  char text[400];
  std::snprintf(text, sizeof text,
      "Rank %d on node %s is slow: in steps %lld to %lld its own work took %.2f times as long as the middle "
      "rank's (%.1f ms against %.1f ms a step), "
      "and every rank waits for it. Look at that node's clocks, temperature, memory and other processes.",
      rank, node.c_str(), static_cast<long long>(at.step - window), static_cast<long long>(at.step - 1), index,
      own_s * 1e3, middle_s * 1e3);
  return text;
}

}  // namespace

std::vector<double> straggler_indices(std::span<const double> medians_s) {
  if (medians_s.size() < 2) return {};
  const double middle_s = middle({medians_s.begin(), medians_s.end()});
  std::vector<double> indices;
  for (const double m : medians_s) indices.push_back(middle_s > 0 ? m / middle_s : 1);
  return indices;
}

Stragglers::Stragglers(const StragglerConfig& config, comm::Communicator& comm, result::RunRecorder& recorder,
    Names names, std::function<void(const std::string&)> note)
    : config_(config), comm_(comm), recorder_(recorder), names_(std::move(names)), note_(std::move(note)),
      found_(static_cast<std::size_t>(comm.size())) {}

void Stragglers::step_ended(const Position& at, const result::StepSample& sample) {
  if (config_.window == 0 || comm_.size() == 1) return;
  own_s_.push_back(sample.step_s - sample.phase_s[static_cast<std::size_t>(result::Phase::kCommExposed)]);
  if (static_cast<std::int64_t>(own_s_.size()) < config_.window) return;
  judge(at);
  own_s_.clear();
}

void Stragglers::judge(const Position& at) {
  std::vector<double> medians(found_.size());
  medians[static_cast<std::size_t>(comm_.rank())] = middle(own_s_);
  comm_.all_reduce_sum(medians.data(), medians.size());
  const std::vector<double> indices = straggler_indices(medians);
  ++windows_;
  for (std::size_t r = 0; r < indices.size(); ++r) {
    if (indices[r] < config_.index) continue;
    Found& f = found_[r];
    f.index = std::max(f.index, indices[r]);
    f.last_step = at.step - 1;
    if (f.windows++ > 0) continue;  // said once
    f.first_step = at.step - config_.window;
    const auto say = [&](const std::string& node) {
      return warning(static_cast<int>(r), node, at, config_.window, indices[r], medians[r], middle(medians));
    };
    recorder_.warn(say(names_.nodes[r]));
    if (note_) note_(say(names_.hosts[r]));
  }
}

void Stragglers::run_ended(const Ending&) {
  if (windows_ == 0) return;
  result::StragglersRecord slow{.window_steps = config_.window, .windows = windows_, .index = config_.index};
  for (std::size_t r = 0; r < found_.size(); ++r)
    if (const Found& f = found_[r]; f.windows > 0)
      slow.ranks.push_back(
          {static_cast<std::int64_t>(r), names_.nodes[r], f.windows, f.first_step, f.last_step, f.index});
  recorder_.update([&](result::RunRecord& record) { record.health.stragglers = std::move(slow); });
}

}  // namespace ttt::train
