// MLPerf's log and the division whose rules a run is held to.
#pragma once

#include <string>
#include <vector>

#include "settings/fields.h"

namespace ttt::train {

// Names of the closed division's rules, as mlperf.relax takes them (mlperf_rules.h).
Limits closed_rule_names();

struct MlperfConfig {
  bool log = false;
  std::string division = "none";
  std::string organisation, platform;
  std::string status = "research";
  bool cache_cleared = false;
  bool draw_seed = false;
  std::vector<std::string> relax;

  bool writes_log() const { return log || division != "none"; }

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("log", s.log,
        "write MLPerf's log lines beside the result (run.mllog.txt beside run.json); with a division they are written "
        "in "
        "any case");
    v("division", s.division,
        "rules of MLPerf Training v3.1 that the run is held to before its clock starts: closed (a broken one refuses "
        "the "
        "run), open (names only), none",
        one_of({"none", "closed", "open"}));
    v("organisation", s.organisation, "who runs it (submission_org); must be set for a division");
    v("platform", s.platform, "on what (submission_platform: 8xXE8545x4A100); must be set for a division");
    v("status", s.status, "availability of the platform (submission_status)",
        one_of({"cloud", "onprem", "preview", "research"}));
    v("cache_cleared", s.cache_cleared,
        "the caches of every node were flushed before the program started: what you say here, the log says "
        "(cache_clear)");
    v("draw_seed", s.draw_seed,
        "the seed is drawn from the system's entropy in place of `seed`, as the closed division asks; the result has "
        "the "
        "one drawn");
    v("relax", s.relax,
        "rules of the closed division that this run may break; each one broken is named in the log, the result and on "
        "the terminal",
        closed_rule_names());
  }
};

}  // namespace ttt::train
