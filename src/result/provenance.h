// Provenance of a run: the build and the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

// A library as it was at build time and as it is in this process; an empty text is left out.
struct LibraryVersion {
  std::string built;
  std::string runtime;
};

// {"version", "commit", "dirty", "compiler", "flags", "build_type", "sanitize", "libraries", "command", "environment",
// "started_at"}. Environment: only variables that start with NCCL_, CUDA_, OMPI_MCA_, OMP_, SLURM_JOB_, MKL_ or TTT_.
Json provenance_json(const std::vector<std::string>& command, const std::map<std::string, LibraryVersion>& libraries);

// "0.1.0 (4e1f..., dirty)" for --version.
std::string version_text();

std::string utc_now();  // "2026-03-01T12:34:56Z"

}  // namespace ttt::result
