#include "reports/gpus.h"

#include "reports/numbers.h"

namespace ttt::reports {
namespace {

// "1980 (1845 to 1980)": mean, least and most of what was looked at.
Cell spread_of(const std::optional<result::Spread>& s, const char* unit, double scale = 1) {
  if (!s) return "-";
  return {
      fixed("%.4g (%.4g to %.4g) %s", s->mean * scale, s->least * scale, s->most * scale, unit), s->mean * scale, unit};
}

std::string slowed_text(const result::GpuRecord& rank) {
  std::string text;
  for (const auto& [reason, share] : rank.slowed_by)
    text += (text.empty() ? "" : ", ") + reason + fixed(" in %.0f %% of the looks", share * 100);
  return text.empty() ? "nothing" : text;
}

Table profile_of_ranks(const result::ProfileRecord& profile) {
  Table t{.header = {"rank", "steps", "time of a step", "device busy", "kernels of a step", "copies and fills", "lost"},
      .right = {true, true, true, true, true, true, true}};
  for (const result::RankProfile& rank : profile.ranks) {
    const auto steps = static_cast<double>(rank.steps);
    const auto each = [&](std::int64_t count) {
      const double of_a_step = static_cast<double>(count) / steps;
      return Cell(fixed("%.0f", of_a_step), of_a_step);
    };
    const double busy = 100 * rank.busy_s / rank.window_s, step_ms = 1e3 * rank.window_s / steps;
    t.rows.push_back({whole(rank.rank), whole(rank.steps), Cell(fixed("%.2f ms", step_ms), step_ms, "ms"),
        rank.window_s > 0 ? Cell(fixed("%.1f %%", busy), busy, "%") : Cell("-"), each(rank.kernels),
        each(rank.copies_and_fills), whole(rank.lost)});
  }
  return t;
}

Table longest_kernels(const result::RankProfile& rank) {
  constexpr std::size_t kShown = 15;
  const auto steps = static_cast<double>(rank.steps);
  Table t{.header = {"on rank 0", "calls of a step", "time of a step", "of all"}, .right = {false, true, true, true}};
  for (const result::KernelRecord& k : rank.longest) {
    if (t.rows.size() == kShown) break;
    const double calls = static_cast<double>(k.calls) / steps, step_ms = 1e3 * k.total_s / steps,
                 share = 100 * k.total_s / rank.total_s;
    t.rows.push_back({k.name, Cell(fixed("%.1f", calls), calls), Cell(fixed("%.3f ms", step_ms), step_ms, "ms"),
        Cell(fixed("%.1f %%", share), share, "%")});
  }
  return t;
}

}  // namespace

Document gpu_blocks(const result::RunRecord& r) {
  if (!r.health.gpus) return {};
  const result::GpusRecord& gpus = *r.health.gpus;
  Table t{.header = {"rank", "GPU", "power", "SM clock", "busy", "temperature", "memory", "slowed by"},
      .right = {true, false, true, true, true, true, true, false}};
  for (const result::GpuRecord& g : gpus.ranks)
    t.rows.push_back({whole(g.rank), g.gpu, spread_of(g.power_w, "W"), spread_of(g.sm_clock_mhz, "MHz"),
        spread_of(g.busy_percent, "%"), spread_of(g.temperature_c, "C"), spread_of(g.memory_bytes, "GB", 1e-9),
        slowed_text(g)});
  Document d;
  d.push_back(Heading{"GPUs"});
  d.push_back(std::move(t));
  if (!gpus.energy_j) return d;
  const double kilojoules = *gpus.energy_j * 1e-3;
  Table energy{.header = {"", ""}, .headless = true};
  energy.add("energy", {Cell(fixed("%.4g kJ", kilojoules), kilojoules, "kJ")});
  if (const auto each = gpus.joules_per_image)
    energy.add("energy per image", {Cell(fixed("%.3g J", *each), *each, "J")});
  d.push_back(std::move(energy));
  return d;
}

Document profile_blocks(const result::RunRecord& r) {
  if (!r.health.profile || r.health.profile->ranks.empty()) return {};
  return {Heading{"What ran on the device"}, profile_of_ranks(*r.health.profile),
      longest_kernels(r.health.profile->ranks.front())};
}

}  // namespace ttt::reports
