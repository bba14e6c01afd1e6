// Something that was looked at before a run, and what was found.
#pragma once

#include <string>

#include "result/record_fields.h"

namespace ttt::result {

struct Check {
  std::string name;      // "binding"
  std::string status;    // ok, warning, failed, not_supported or not_used (nobody asked for it)
  std::string sentence;  // what was found; of a warning or a failure also who and the remedy
  // Raw values by name. The name's end says what the entries of a list belong to: _of_rank, _of_node (in the order of
  // system.nodes), _samples.
  Json facts = Json::object();

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("name", c.name, "what was looked at", matching("."));
    v("status", c.status, "", statuses());
    v("sentence", c.sentence, "what was found, who, and the remedy", matching("."));
    v("facts", c.facts, "raw values; _of_rank and _of_node: one entry for each, _samples: for each repetition");
  }
  static Limits statuses() { return one_of({"ok", "warning", "failed", "not_supported", "not_used"}); }
  static void check(const Check& check, const std::string& path);  // throws DataError for another status
};

}  // namespace ttt::result
