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
  return {fixed("%.4g (%.4g to %.4g) %s", mean, it->at("least").get<double>() * scale, it->at("most").get<double>() * scale, unit), mean, unit};
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
  Table t{.header = {"rank", "GPU", "power", "SM clock", "busy", "temperature", "memory", "slowed by"}, .right = {true, false, true, true, true, true, true, false}};
  for (const Json& rank : found->at("ranks"))
    t.rows.push_back({whole(rank.at("rank").get<std::int64_t>()), rank.at("gpu").get<std::string>(), spread_of(rank, "power_w", "W"), spread_of(rank, "sm_clock_mhz", "MHz"),
                      spread_of(rank, "busy_percent", "%"), spread_of(rank, "temperature_c", "C"), spread_of(rank, "memory_bytes", "GB", 1e-9), slowed_text(rank)});
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

}  // namespace ttt::reports
