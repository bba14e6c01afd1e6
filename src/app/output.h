// The first and the last lines of every program, on stdout. Other programs read them: docs/fom.md.
#pragma once

#include <string>
#include <vector>

#include "result/figures.h"

namespace ttt::harness {

// How a program ended.
struct Answer {
  std::string sentence = {};  // for people; "": it was said on stderr
  std::vector<result::Figure> figures = {};
  std::vector<std::string> files = {};  // that were written
  std::string next = {};                // the command that goes on from here
  result::Verdict verdict = result::Verdict::kPassed;
  int exit_code = 0;  // of a tool; a run's follows from its verdict
};

// "TTT output 1: roofline, 2 ranks, result peaks.json"
void print_start(const std::string& program, const std::string& what);
// The sentence, a line for each figure and file, and last the verdict.
void print_end(const Answer& answer);

// "build/bin/report" of "build/bin/roofline": all programs stand in one folder.
std::string beside(const std::string& program, const std::string& other);

}  // namespace ttt::harness
