// The machine a run stood on. Host names are hashed: results are published.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "result/record_fields.h"

namespace ttt::result {

// Of the flags in /proc/cpuinfo, those that decide which kernels of LibTorch and oneDNN run.
inline constexpr const char* kCpuFeatures[] = {
    "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve", "bf16"};

struct Node {
  std::string host;  // the first 12 digits of the SHA-256 of its name
  std::string cpu;
  std::optional<std::string> cpu_model;   // "family 25 model 17": hypervisors hide it from the name
  std::vector<std::string> cpu_features;  // see kCpuFeatures
  std::int64_t logical_cores = 0;
  std::optional<std::int64_t> usable_cores;  // of this process's affinity mask
  std::vector<std::int64_t> bound_to;        // processors that its ranks may use, in ascending order; empty: unknown
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> memory_limit_bytes;  // of the control group
  std::string kernel, os;                          // os: empty where unknown
  std::vector<std::int64_t> ranks;

  template <class Self, class Visitor> static void fields(Self& n, Visitor&& v) {
    v("host", n.host, "first 12 digits of the SHA-256 of its name", matching("^[0-9a-f]{12}$"));
    v.later("cpu", n.cpu, "");
    v.optional("cpu_model", n.cpu_model, "family and model of an x86 processor, part of an Arm one");
    v.later("cpu_features", n.cpu_features, "instruction sets that decide the speed of kernels");
    v.later("logical_cores", n.logical_cores, "", at_least(1));
    v.optional("usable_cores", n.usable_cores, "of the first rank's affinity mask", at_least(1));
    v.optional("bound_to", n.bound_to, "processors that its ranks together may use", at_least(0));
    v.later("memory_bytes", n.memory_bytes, "", at_least(0));
    v.optional("memory_limit_bytes", n.memory_limit_bytes, "of the control group", at_least(0));
    v.later("kernel", n.kernel, ""), v.optional("os", n.os, "");
    v("ranks", n.ranks, "on this node", at_least(0));
    v.open();
  }
};

struct System {
  std::int64_t world_size = 0;
  std::vector<Node> nodes;

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("world_size", s.world_size, "ranks", at_least(1)), v("nodes", s.nodes, "in the order of their first ranks");
    v.open();
  }
};

// Where this process runs; without ranks.
Node this_node();

// Of every rank's node in rank order. A node with several ranks is described by its first.
Json system_json(const std::vector<Node>& node_of_rank);

}  // namespace ttt::result
