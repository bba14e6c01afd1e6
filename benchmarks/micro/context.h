#pragma once

#include <benchmark/benchmark.h>

#include "context_json.h"

namespace ttt::micro {

inline void add_context() {
  const result::Json context = context_json();
  for (const auto& [key, value] : context.items())
    benchmark::AddCustomContext(key, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace ttt::micro
