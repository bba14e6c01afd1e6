// Costs without need in a recipe, its build and its machine: rules over what is known of a run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

// What the rules look at. A number that nobody knows is absent, and the rules that need it stay silent.
struct SymptomFacts {
  Json settings;  // of the resolved recipe, as in a result
  Json built;     // describe()
  std::map<std::string, std::string> environment;
  std::string build_type, sanitize;         // of these programs
  std::int64_t ranks = 1, node_ranks = 1;   // of the launch, and of the node with most
  std::int64_t cores = 1;                   // of that node
  std::int64_t usable_cores = 1;            // of a rank's affinity mask, the least over ranks
  std::optional<std::int64_t> bound_cores;  // that the ranks of that node may use together
  std::int64_t steps_per_epoch = 1;
  std::optional<double> cold_bytes;    // of the training data that are not in memory yet, on a node
  std::optional<double> others_share;  // of the node's processor time: taken by other processes just now
  std::optional<double> clock_share;   // of the processor's highest clock: its clock under load just now
};

// Something that costs time.
struct Symptom {
  std::string id;        // of the rule: "no_worker"
  std::string what;      // a sentence: what is so, and what it costs
  std::string remedy;    // a sentence that says what to do
  std::string ablation;  // that measures it; empty: none does
};

// The worst first: what makes a run many times slower stands before what costs some per cent.
std::vector<Symptom> symptoms(const SymptomFacts& facts);

// For people: what was found with remedies and ablations, or that nothing was.
std::string symptoms_text(const std::vector<Symptom>& found);

}  // namespace ttt::result
