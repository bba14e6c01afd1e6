// Provenance of a run: the build and the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "result/record_fields.h"

namespace ttt::result {

// A library as it was at build time and as it is in this process; an empty text is left out.
struct LibraryVersion {
  std::string built;
  std::string runtime;

  template <class Self, class Visitor> static void fields(Self& l, Visitor&& v) {
    v.optional("built", l.built, "version of the headers"), v.optional("runtime", l.runtime, "of what was loaded");
  }
};

struct Provenance {
  std::string version, commit;
  bool dirty = false;
  std::string compiler, flags, build_type, sanitize, cuda_compiler;
  std::map<std::string, LibraryVersion> libraries;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // sorted: equal environments give equal texts
  std::string started_at;

  template <class Self, class Visitor> static void fields(Self& p, Visitor&& v) {
    v("version", p.version, ""), v("commit", p.commit, "");
    v("dirty", p.dirty, "built from a tree with uncommitted changes");
    v("compiler", p.compiler, ""), v("flags", p.flags, ""), v("build_type", p.build_type, "");
    v("sanitize", p.sanitize, "empty: none"), v("cuda_compiler", p.cuda_compiler, "empty: none");
    v("libraries", p.libraries, ""), v("command", p.command, "");
    v("environment", p.environment, "variables that bear on a run; no others are kept",
        matching("^(NCCL_|CUDA_|OMPI_MCA_|OMP_|SLURM_JOB_|MKL_|TTT_)"));
    v("started_at", p.started_at, "UTC", matching(kUtcPattern));
  }
};

// Of this build and this process, as of now. Environment: only variables that start with NCCL_, CUDA_, OMPI_MCA_, OMP_,
// SLURM_JOB_, MKL_ or TTT_.
Json provenance_json(const std::vector<std::string>& command, const std::map<std::string, LibraryVersion>& libraries);

// "0.1.0 (4e1f..., dirty)" for --version.
std::string version_text();

std::string utc_now();  // "2026-03-01T12:34:56Z"

}  // namespace ttt::result
