// The command line, which is the same for every program and frozen: a new knob is a recipe key, not a flag. (A fault
// that is planted is no property of the run that it breaks: it has a flag, of the programs that take it.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ttt::harness {

struct Options {
  std::string recipe;                 // --recipe FILE|NAME; "" is the program's default
  std::vector<std::string> set;       // --set key=value, repeatable
  std::string out;                    // --out FILE; "" is a name made of program, time and run
  bool force = false;                 // --force: replace an existing result
  std::optional<std::int64_t> seed;   // --seed N
  std::optional<std::string> device;  // --device cpu|cuda
  std::optional<std::string> data;    // --data DIR
  std::vector<std::string> inject;    // --inject FAULT, repeatable; of programs that take it
  bool quiet = false;                 // --quiet: no progress
  bool print_recipe = false;          // --print-recipe: the resolved recipe as TOML, then end
  bool doctor = false;                // --doctor: what costs time without need, then end; of programs that have one
  bool version = false;               // --version
  std::string help;                   // text to print, where --help was given
};

// Throws UsageError naming the argument and the nearest valid one. `inject_help`: what --help says of --inject; "" for
// a program without it. `has_doctor`: whether the program knows --doctor.
Options parse_options(int argc, const char* const* argv, const std::string& program, const std::string& summary,
    const std::string& inject_help = {}, bool has_doctor = false);

}  // namespace ttt::harness
