// Facts that one rank collects about itself and its node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "result/provenance.h"
#include "settings/json.h"
#include "tools/preflight/settings.h"

namespace ttt::preflight {

struct Place {
  int rank = 0, local_rank = 0, local_size = 1;
};

// Members, of which a rank other than its node's first has only those marked *:
//   host*                name of the node
// build* of result/provenance.h: version, commit, dirty, compiler, flags, build_type, sanitize, libraries
//   environment*         of result/provenance.h, without what each rank or node may have for itself
//   cpus*, cores*, numa* lists: the logical CPUs on which this rank may run, their physical cores, their NUMA nodes
// gpu* {"bus_id", "numa" (-1: not told)} of the GPU on which a run's rank would compute, or {"reason": why there is
// none}
//   cpu, kernel, logical_cores
//   memory_available_bytes
//   disk                 [{"folder": what it is for, "path", "free_bytes" or "problem"}]
//   governors            of the node's CPUs, each once; empty where they cannot be read
//   gpus                 {"driver", "devices": [...]} or {"reason": why there are none}
// What cannot be read is absent.
result::Json rank_facts(const Place& place, const std::string& result_folder,
    const std::map<std::string, result::LibraryVersion>& libraries);

// This rank's share of its node's shards, in `data` or ("") of the generated data set, against the manifest. {"folder"
// ("" where there is nothing to check yet), "manifest_sha256", "bytes" (of all shards), "read_bytes" and "read_s" (of
// this rank), "problems": [sentence, ...]}.
result::Json shard_facts(const Place& place, const std::string& data, const Settings& settings);

}  // namespace ttt::preflight
