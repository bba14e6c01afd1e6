// A program that trains a workload to its target: all that its main function does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/assemble.h"

namespace ttt {

struct TrainProgram {
  std::string name, summary;
  const eval::Workload& workload;
  std::map<std::string, std::string> recipes;  // TOML texts by name
  // For tests: replaces components, opens another device, follows the run, and adds to its record at the end.
  std::function<void(Components&)> components = nullptr;
  OpenAccelerator open = train::open_accelerator;
  std::vector<train::Listener*> listeners = {};
  std::function<void(result::RunRecord&)> record = nullptr;
};

// Returns the exit code. Every rank calls it.
int train_program(int argc, char** argv, const TrainProgram& program);

}  // namespace ttt
