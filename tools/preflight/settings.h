// Settings of a preflight: its checks and their thresholds.
#pragma once

#include <cstdint>
#include <string>

#include "settings/fields.h"

namespace ttt::preflight {

struct Settings {
  std::string cores = "exclusive";
  std::int64_t ranks_per_node = 0;
  std::int64_t gpus_per_node = 0;
  std::int64_t memory_per_rank_bytes = 1ll << 30;
  std::int64_t disk_bytes = 1ll << 30;
  double clock_skew_s = 1;
  std::string shards = "hash";
  std::string generated = "square";
  double slow_rank = 0.8;
  double slow_link = 0.5;
  std::int64_t link_bytes = 8ll << 20;
  std::int64_t all_reduce_bytes = 82'600'000;
  double least_bus_bytes_per_s = 0;
  std::int64_t repeats = 5;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("cores", s.cores,
        "exclusive: each rank must have cores of its own; shared: ranks are meant to share the node's cores",
        one_of({"exclusive", "shared"}));
    v("ranks_per_node", s.ranks_per_node, "ranks that each node must have; 0: any number, the same on all",
        between(0, 65536));
    v("gpus_per_node", s.gpus_per_node, "GPUs that each node must have; 0: any number, the same on all",
        between(0, 1024));
    v("memory_per_rank_bytes", s.memory_per_rank_bytes, "memory that must be free on a node for each of its ranks",
        between(0, 1e15));
    v("disk_bytes", s.disk_bytes,
        "space that must be free in the folders of the result, of the cache and of temporary files", between(0, 1e18));
    v("clock_skew_s", s.clock_skew_s, "nodes' clocks may be this far apart [s]; beyond it a warning", between(0, 1e9));
    v("shards", s.shards, "how shards are compared with their manifest: hash (every byte is read), size, or none",
        one_of({"hash", "size", "none"}));
    v("generated", s.generated,
        "images of the generated data set, as data.generated of a training, where --data names no other",
        one_of({"square", "mixed"}));
    v("slow_rank", s.slow_rank, "a rank whose rate is below this share of the median over ranks is named as slow",
        between(0, 1));
    v("slow_link", s.slow_link,
        "a node whose rate to the others is below this share of the median over nodes is named as slow", between(0, 1));
    v("link_bytes", s.link_bytes, "bytes that each node sends to all others when links are compared", between(1, 1e10));
    v("all_reduce_bytes", s.all_reduce_bytes,
        "of the large all-reduce; 82.6 MB are the gradients of Mask R-CNN (ResNet-50) in 16 bits", between(8, 1e11));
    v("least_bus_bytes_per_s", s.least_bus_bytes_per_s, "bus bandwidth that the large all-reduce must reach; 0: any",
        between(0, 1e15));
    v("repeats", s.repeats, "samples of each measurement", between(1, 1000));
  }
};

}  // namespace ttt::preflight
