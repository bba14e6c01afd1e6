// From facts to verdicts: pure functions of what was gathered, one for each check.
#pragma once

#include <string>
#include <vector>

#include "result/check.h"
#include "tools/preflight/cluster.h"
#include "tools/preflight/measure.h"
#include "tools/preflight/settings.h"

namespace ttt::preflight {

// Of what each rank and node says of itself: versions, environment, hosts, binding, memory, disk, frequency, gpus.
std::vector<result::Check> judge_nodes(const Cluster& cluster, const Settings& settings);
// Of what the ranks read and measured together: shards, clocks, speed, links, all_reduce. `shards_of_rank`:
// shard_facts() in rank order; `generated`: no data set was named.
std::vector<result::Check> judge_measured(const Cluster& cluster, const std::vector<result::Json>& shards_of_rank,
    bool generated, const Measured& measured, const Settings& settings);

// The first difference of two objects' members, depth first: "libraries.libtorch.runtime is \"2.11.0\" and not
// \"2.10.0\""; "" where they are equal.
std::string difference_text(const result::Json& value, const result::Json& usual);

std::string capital(std::string text);  // its first letter

// "1.5 GB": bytes for people, three digits.
std::string bytes_text(double bytes);

}  // namespace ttt::preflight
