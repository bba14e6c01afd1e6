// Findings and cost of the guards of a run: replica checks, stragglers, watchdog, GPUs, profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "result/record_fields.h"

namespace ttt::result {

// Comparisons of the ranks' weights and optimizer state.
struct ReplicaChecksRecord {
  std::int64_t every_steps = 0, checks = 0;
  std::int64_t bytes = 0;  // of one check, on one rank
  double hash_s = 0;       // of all checks
  double total_s = 0;      // with the exchange of hashes

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v) {
    v("every_steps", r.every_steps, "", at_least(1)), v("checks", r.checks, "", at_least(0));
    v("bytes", r.bytes, "of one check, on one rank", at_least(0));
    v("hash_s", r.hash_s, "of all checks", at_least(0));
    v("total_s", r.total_s, "with the exchange of hashes", at_least(0));
  }
};

// A rank that was slower than the others.
struct Straggler {
  std::int64_t rank = 0;
  std::string node;  // as in system.nodes
  std::int64_t windows = 0, first_step = 0, last_step = 0;
  double index = 0;  // the highest of its windows

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("rank", s.rank, "", at_least(0)), v("node", s.node, "as in system.nodes");
    v("windows", s.windows, "in which it was slow", at_least(1));
    v("first_step", s.first_step, "", at_least(0)), v("last_step", s.last_step, "", at_least(0));
    v("index", s.index, "of its slowest window: its work against the median rank's", at_least(1));
  }
};

struct StragglersRecord {
  std::int64_t window_steps = 0, windows = 0;
  double index = 0;
  std::vector<Straggler> ranks;

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("window_steps", s.window_steps, "", at_least(1)), v("windows", s.windows, "that were looked at", at_least(1));
    v("index", s.index, "from which a rank counts as slow", at_least(1));
    v("ranks", s.ranks, "that were slow");
  }
};

struct WatchdogRecord {
  double limit_s = 0, heartbeat_s = 0, heartbeat_cpu_s = 0;

  template <class Self, class Visitor> static void fields(Self& w, Visitor&& v) {
    v("limit_s", w.limit_s, "without progress, after which the run ends", at_least(0));
    v("heartbeat_s", w.heartbeat_s, "between two looks", above(0));
    v("heartbeat_cpu_s", w.heartbeat_cpu_s, "of processor time for all looks of rank 0", at_least(0));
  }
};

// Of the looks at a device.
struct Spread {
  double least = 0, mean = 0, most = 0;

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("least", s.least, "", at_least(0)), v("mean", s.mean, "", at_least(0)), v("most", s.most, "", at_least(0));
  }
};

struct GpuRecord {
  std::int64_t rank = 0;
  std::string node, gpu;
  std::int64_t looks = 0;
  std::map<std::string, double> slowed_by;  // reason -> share of the looks
  std::optional<Spread> power_w, sm_clock_mhz, busy_percent, temperature_c, memory_bytes;  // where the driver tells
  std::optional<double> energy_j;

  template <class Self, class Visitor> static void fields(Self& g, Visitor&& v) {
    v("rank", g.rank, "", at_least(0)), v("node", g.node, "as in system.nodes"), v("gpu", g.gpu, "");
    v("looks", g.looks, "", at_least(1));
    v("slowed_by", g.slowed_by, "share of the looks by reason", above(0));
    v.optional("power_w", g.power_w, ""), v.optional("sm_clock_mhz", g.sm_clock_mhz, "");
    v.optional("busy_percent", g.busy_percent, ""), v.optional("temperature_c", g.temperature_c, "");
    v.optional("memory_bytes", g.memory_bytes, "in use, by all processes");
    v.optional("energy_j", g.energy_j, "of the run", at_least(0));
  }
};

struct GpusRecord {
  double every_s = 0;
  std::vector<GpuRecord> ranks;
  std::optional<double> energy_j, joules_per_image;

  template <class Self, class Visitor> static void fields(Self& g, Visitor&& v) {
    v("every_s", g.every_s, "between two looks", above(0));
    v("ranks", g.ranks, "", not_empty());
    v.optional("energy_j", g.energy_j, "of all ranks, where every driver tells", at_least(0));
    v.optional("joules_per_image", g.joules_per_image, "", at_least(0));
  }
};

struct KernelRecord {
  std::string name;
  std::int64_t calls = 0;
  double total_s = 0;

  template <class Self, class Visitor> static void fields(Self& k, Visitor&& v) {
    v("name", k.name, ""), v("calls", k.calls, "", at_least(1)), v("total_s", k.total_s, "", at_least(0));
  }
};

struct RankProfile {
  std::int64_t steps = 0;
  double window_s = 0, busy_s = 0, total_s = 0;
  std::int64_t kernels = 0, copies_and_fills = 0, lost = 0;
  std::vector<KernelRecord> longest;
  std::int64_t rank = 0;

  template <class Self, class Visitor> static void fields(Self& p, Visitor&& v) {
    v("steps", p.steps, "", at_least(1));
    v("window_s", p.window_s, "from the first activity to the last", at_least(0));
    v("busy_s", p.busy_s, "in which something ran", at_least(0));
    v("total_s", p.total_s, "of all activities, also of those beside each other", at_least(0));
    v("kernels", p.kernels, "", at_least(0)), v("copies_and_fills", p.copies_and_fills, "", at_least(0));
    v("lost", p.lost, "activities for which there was no room", at_least(0));
    v("longest", p.longest, "kernels by time");
    v("rank", p.rank, "", at_least(0));
  }
};

struct ProfileRecord {
  std::int64_t from = 0;
  std::vector<RankProfile> ranks;

  template <class Self, class Visitor> static void fields(Self& p, Visitor&& v) {
    v("from", p.from, "step", at_least(0));
    v("ranks", p.ranks, "", not_empty());
  }
};

// Absent: nothing watched.
struct HealthRecord {
  std::optional<ReplicaChecksRecord> replica_checks;
  std::optional<StragglersRecord> stragglers;
  std::optional<WatchdogRecord> watchdog;
  std::optional<GpusRecord> gpus;
  std::optional<ProfileRecord> profile;  // of the device, over train.profile_steps

  bool empty() const { return !replica_checks && !stragglers && !watchdog && !gpus && !profile; }
  template <class Self, class Visitor> static void fields(Self& h, Visitor&& v) {
    v.optional("replica_checks", h.replica_checks, "comparisons of the ranks' weights and optimizer state");
    v.optional("stragglers", h.stragglers, "ranks that were slower than the others");
    v.optional("watchdog", h.watchdog, "");
    v.optional("gpus", h.gpus, "power, clocks and memory of the devices");
    v.optional("profile", h.profile, "what ran on the device, over train.profile_steps");
  }
};

}  // namespace ttt::result
