// Context written into a benchmark's JSON beside the library's own: commit, compiler flags, processor.
#pragma once

#include <benchmark/benchmark.h>

#include "result/provenance.h"
#include "result/system_info.h"

namespace ttt::micro {

inline void add_context() {
  const result::Json p = result::provenance_json({}, {}), node = result::json_of(result::this_node());
  const auto add = [](const char* key, const result::Json& value) {
    benchmark::AddCustomContext(key, value.is_string() ? value.get<std::string>() : value.dump());
  };
  for (const char* key : {"commit", "dirty", "compiler", "flags", "build_type"}) add(key, p.at(key));
  for (const char* key : {"cpu", "usable_cores"})
    if (node.contains(key)) add(key, node.at(key));
}

}  // namespace ttt::micro
