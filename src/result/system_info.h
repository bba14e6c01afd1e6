// The machine a run stood on. Host names are hashed: results are published.
#pragma once

#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

// This process's node: {"host" (first 12 digits of the SHA-256 of its name), "cpu", "logical_cores", "usable_cores"
// (this process's affinity mask), "memory_bytes", "memory_limit_bytes" (control group, where there is one), "kernel",
// "os"}.
Json node_json();

// {"world_size", "nodes": [node, ..., each with "ranks"]} of every rank's node in rank order; callers may have added
// keys of their own ("gpus") to a node. A node with several ranks is described by its first.
Json system_json(const std::vector<Json>& node_of_rank);

}  // namespace ttt::result
