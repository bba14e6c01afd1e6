// Context in the JSON of a benchmark beside what the benchmark library says: commit, compiler flags, processor.
#pragma once

#include "result/provenance.h"
#include "result/system_info.h"

namespace ttt::micro {

inline result::Json context_json() {
  const result::Json p = result::provenance_json({}, {}), node = result::json_of(result::this_node());
  result::Json context;
  for (const char* key : {"commit", "dirty", "compiler", "flags", "build_type"}) context[key] = p.at(key);
  for (const char* key : {"cpu", "usable_cores"})
    if (node.contains(key)) context[key] = node.at(key);
  return context;
}

}  // namespace ttt::micro
