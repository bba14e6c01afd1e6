#include "health/watchdog.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "result/phase_clock.h"

namespace ttt::train {
namespace {

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", s);
  return text;
}

// {0, 1, 2, 5} -> "ranks 0-2 and 5"
std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    runs.push_back(std::to_string(ranks[i]));
    if (end - i > 1) runs.back().append("-").append(std::to_string(ranks[end - 1]));
    i = end;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < runs.size(); ++i) text += (i == 0 ? "" : i + 1 < runs.size() ? ", " : " and ") + runs[i];
  return text;
}

// Silence that needs no explanation: news takes a few hops, and a heartbeat may wait for a core.
double usual_silence_s(const comm::Heartbeat& heartbeat, std::size_t ranks) {
  return 0.15 + heartbeat.interval_s() * std::ceil(std::log2(std::max<double>(2, static_cast<double>(ranks))));
}

bool waits(const comm::Sign& s) {
  return !s.collective.empty() || s.stage == static_cast<std::int32_t>(result::Phase::kCommExposed) ||
         s.stage == comm::kDeviceStage;
}

}  // namespace

std::string place_text(const comm::Sign& s) {
  std::string text;
  if (s.stage == comm::kEvaluationStage) text = "the evaluation after " + std::to_string(s.step) + " steps";
  else if (s.stage == comm::kDeviceStage) text = "the device's work of step " + std::to_string(s.step);
  else if (s.stage >= 0 && static_cast<std::size_t>(s.stage) < result::kPhaseNames.size())
    text = std::string(result::kPhaseNames[static_cast<std::size_t>(s.stage)]) + " of step " + std::to_string(s.step);
  else text = "step " + std::to_string(s.step);
  return s.collective.empty() ? text : text + " (" + s.collective + ")";
}

namespace {

// What the kernel says comes first: a process that it lets run, and whose heartbeat waits for a core, is there.
bool is_silent(const comm::Sign& s, double silent_s) {
  return s.process == comm::Process::kGone || (s.silent_s > silent_s && s.process != comm::Process::kRuns);
}

std::string silence_text(const comm::Sign& s) {
  const std::string what = s.process == comm::Process::kGone ? "is gone"
                           : s.process == comm::Process::kStopped
                               ? "is stopped, since " + seconds(s.silent_s)
                               : "has given no sign of life for " + seconds(s.silent_s);
  return what + ", was last seen in " + place_text(s);
}

}  // namespace

std::string describe_stand(
    const std::vector<comm::Sign>& signs, const std::vector<std::string>& nodes, double silent_s) {
  std::string silent, busy;
  std::multimap<std::int64_t, std::string> at_work;  // by step
  std::map<std::string, std::vector<int>> waiting;   // by place
  for (std::size_t r = 0; r < signs.size(); ++r) {
    const comm::Sign& s = signs[r];
    const std::string name = "rank " + std::to_string(r) + " (node " + nodes.at(r) + ")";
    if (is_silent(s, silent_s)) silent += (silent.empty() ? "" : "; ") + name + " " + silence_text(s);
    else if (waits(s)) waiting[place_text(s)].push_back(static_cast<int>(r));
    else at_work.emplace(s.step, name + " has been in " + place_text(s) + " for " + seconds(s.still_s));
  }
  // Who is a step behind comes first: where a device's queue is full, those ahead stand wherever they wanted to put
  // more into it.
  for (const auto& [step, one] : at_work) busy += (busy.empty() ? "" : "; ") + one;
  // Where a rank is silent, those that are not in a collective yet will be: they are not its cause.
  std::string text = silent;
  if (!busy.empty()) text += (text.empty() ? "" : "; ") + busy;
  for (const auto& [place, ranks] : waiting)
    text += (text.empty() ? "" : "; ") + ranks_text(ranks) + (ranks.size() == 1 ? " waits in " : " wait in ") + place;
  return text;
}

Watchdog::Watchdog(Settings settings, comm::Heartbeat& heartbeat, comm::RankState& place)
    : settings_(std::move(settings)), heartbeat_(heartbeat), place_(place) {}

Watchdog::~Watchdog() { end(); }

void Watchdog::run_started(const Position& at) {
  step_starts(at);
  if (settings_.limit_s > 0) thread_ = std::thread([this] { watch(); });
}

void Watchdog::step_starts(const Position& at) { place_.step = at.step; }

void Watchdog::evaluation_started(const Position& at) {
  place_.step = at.step;
  place_.stage = comm::kEvaluationStage;
}

void Watchdog::run_ended(const Ending&) {
  stop();
  if (!settings_.recorder) return;
  settings_.recorder->update([this](result::RunRecord& r) {
    r.health.watchdog = {settings_.limit_s, heartbeat_.interval_s(), heartbeat_.cpu_s()};
  });
}

void Watchdog::stop() {
  end();
  heartbeat_.stop();
}

void Watchdog::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Watchdog::wait(double s) {
  std::unique_lock lock(mutex_);
  return !ended_changed_.wait_for(lock, std::chrono::duration<double>(s), [this] { return ended_; });
}

bool Watchdog::stands_still() const {
  const std::vector<comm::Sign> signs = heartbeat_.signs();
  return std::all_of(signs.begin(), signs.end(), [this](const comm::Sign& s) { return s.still_s > settings_.limit_s; });
}

void Watchdog::watch() {
  const double silent_s = settings_.limit_s / 2;
  while (wait(std::clamp(settings_.limit_s / 20, 0.05, 1.0))) {
    if (!stands_still()) continue;
    // The lowest rank that lives speaks; its abort ends the others while they wait here.
    const std::vector<comm::Sign> signs = heartbeat_.signs();
    int before = 0;
    for (int r = 0; r < settings_.rank; ++r) before += !is_silent(signs[static_cast<std::size_t>(r)], silent_s);
    if (before > 0 && (!wait(2 + 0.01 * before) || !stands_still())) continue;
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g", settings_.limit_s);
    settings_.give_up("No rank has made progress for train.watchdog_s = " + std::string(limit) +
                      " s: " + describe_stand(signs, settings_.nodes, silent_s) +
                      ". Look at the first that is named, or raise train.watchdog_s where it is only slow.");
    return;
  }
}

std::string Watchdog::diagnosis() const {
  const std::vector<comm::Sign> signs = heartbeat_.signs();
  const double silent_s = usual_silence_s(heartbeat_, signs.size());
  const bool silent =
      std::any_of(signs.begin(), signs.end(), [&](const comm::Sign& s) { return is_silent(s, silent_s); });
  const bool still = std::all_of(signs.begin(), signs.end(), [](const comm::Sign& s) { return s.still_s > 2; });
  if (!silent && !still) return {};
  std::string text = describe_stand(signs, settings_.nodes, silent_s);
  text[0] = 'R';
  // With a node that is gone, a call of MPI may not return: then nobody can be heard, and those elsewhere may be well.
  if (signs.at(static_cast<std::size_t>(settings_.rank)).silent_s > silent_s)
    text += "; this rank's own heartbeat is held up in MPI";
  return text + ".";
}

}  // namespace ttt::train
