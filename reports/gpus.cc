#include "reports/gpus.h"

#include "reports/numbers.h"

namespace ttt::reports {
namespace {

using result::Json;

// "1980 (1845 to 1980)": mean, least and most of what was looked at.
Cell spread_of(const Json& rank, const char* key, const char* unit, double scale = 1) {
  const auto it = rank.find(key);
  if (it == rank.end()) return "-";
  const double mean = it->at("mean").get<double>() * scale;
  return {fixed("%.4g (%.4g to %.4g) %s", mean, it->at("least").get<double>() * scale,
              it->at("most").get<double>() * scale, unit),
      mean, unit};
}

std::string slowed_text(const Json& rank) {
  std::string text;
  for (const auto& [reason, share] : rank.at("slowed_by").items())
    text += (text.empty() ? "" : ", ") + reason + fixed(" in %.0f %% of the looks", share.get<double>() * 100);
  return text.empty() ? "nothing" : text;
}

}  // namespace

Document gpu_blocks(const result::RunRecord& r) {
  const auto found = r.health.find("gpus");
  if (found == r.health.end()) return {};
  Table t{.header = {"rank", "GPU", "power", "SM clock", "busy", "temperature", "memory", "slowed by"},
      .right = {true, false, true, true, true, true, true, false}};
  for (const Json& rank : found->at("ranks"))
    t.rows.push_back({whole(rank.at("rank").get<std::int64_t>()), rank.at("gpu").get<std::string>(),
        spread_of(rank, "power_w", "W"), spread_of(rank, "sm_clock_mhz", "MHz"), spread_of(rank, "busy_percent", "%"),
        spread_of(rank, "temperature_c", "C"), spread_of(rank, "memory_bytes", "GB", 1e-9), slowed_text(rank)});
  Document d;
  d.push_back(Heading{"GPUs"});
  d.push_back(std::move(t));
  if (found->contains("energy_j")) {
    const double joules = found->at("energy_j").get<double>();
    Table energy{.header = {"", ""}, .headless = true};
    energy.add("energy", {Cell(fixed("%.4g kJ", joules * 1e-3), joules * 1e-3, "kJ")});
    if (found->contains("joules_per_image")) {
      const double each = found->at("joules_per_image").get<double>();
      energy.add("energy per image", {Cell(fixed("%.3g J", each), each, "J")});
    }
    d.push_back(std::move(energy));
  }
  return d;
}

Document profile_blocks(const result::RunRecord& r) {
  constexpr std::size_t kShown = 15;
  const auto found = r.health.find("profile");
  if (found == r.health.end()) return {};
  Table ranks{
      .header = {"rank", "steps", "time of a step", "device busy", "kernels of a step", "copies and fills", "lost"},
      .right = {true, true, true, true, true, true, true}};
  for (const Json& rank : found->at("ranks")) {
    const double steps = rank.at("steps").get<double>(), window_s = rank.at("window_s").get<double>(),
                 busy_s = rank.at("busy_s").get<double>();
    const auto each = [&](const char* key) {
      return Cell(fixed("%.0f", rank.at(key).get<double>() / steps), rank.at(key).get<double>() / steps);
    };
    ranks.rows.push_back({whole(rank.at("rank").get<std::int64_t>()), whole(rank.at("steps").get<std::int64_t>()),
        Cell(fixed("%.2f ms", 1e3 * window_s / steps), 1e3 * window_s / steps, "ms"),
        window_s > 0 ? Cell(fixed("%.1f %%", 100 * busy_s / window_s), 100 * busy_s / window_s, "%") : Cell("-"),
        each("kernels"), each("copies_and_fills"), whole(rank.at("lost").get<std::int64_t>())});
  }
  const Json& first = found->at("ranks")[0];
  const double steps = first.at("steps").get<double>(), total_s = first.at("total_s").get<double>();
  Table longest{
      .header = {"on rank 0", "calls of a step", "time of a step", "of all"}, .right = {false, true, true, true}};
  for (const Json& k : first.at("longest")) {
    if (longest.rows.size() == kShown) break;
    const double s = k.at("total_s").get<double>();
    longest.rows.push_back({k.at("name").get<std::string>(),
        Cell(fixed("%.1f", k.at("calls").get<double>() / steps), k.at("calls").get<double>() / steps),
        Cell(fixed("%.3f ms", 1e3 * s / steps), 1e3 * s / steps, "ms"),
        Cell(fixed("%.1f %%", 100 * s / total_s), 100 * s / total_s, "%")});
  }
  return {Heading{"What ran on the device"}, std::move(ranks), std::move(longest)};
}

}  // namespace ttt::reports
