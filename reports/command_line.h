// Shared by the subcommands of `report`: reading result files and printing a document.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"
#include "reports/inputs.h"
#include "reports/score.h"

namespace ttt::reports {

// A subcommand, defined in the file of its report and listed in main.cc. `declare` adds its options to `command` and
// returns what runs once they are parsed. That gives the exit code, and throws ttt::Error for what the user can act on.
struct Command {
  const char* name;
  const char* description;
  std::function<int()> (*declare)(CLI::App& command);
};
extern const Command kShow, kAblations, kCompare, kMachines, kHistory, kScore, kCheck, kBench, kHtml, kPictures,
    kScaling, kAccuracy, kTimeline, kTelemetry, kFollow, kClaims, kDiagnose, kTargets;

// Stands for `--` between the groups of `report compare`: CLI11 would take it for the end of all options.
inline constexpr const char* kNextGroup = "\x1d";  // ASCII's group separator

struct Output {
  std::string format = "text";
  std::size_t width = 0;  // 0: the terminal's
  std::string table;      // the one to print; empty: all
  std::string folder;     // for a CSV file of each table; empty: standard output
};
void add_output_options(CLI::App& command, Output& output);

// The files of a command, and what their machines are called.
struct FilesArguments {
  std::vector<std::string> files, labels;
  Output output;
};
// The files (`what` they are), which is returned, and --label.
CLI::Option* add_files(CLI::App& command, FilesArguments& a, const std::string& what);

void print(const std::string& text);
// Throws UsageError where tables of other columns would have to share one CSV.
void print(const Document& document, const Output& output);

// A file that cannot be read is named on stderr, and the others are reported: the exit code tells. All that follow give
// the machines their labels, and throw as read_inputs and label_machines do.
struct Runs {
  std::vector<NamedRun> runs;
  int exit_code = 0;
};
Runs read_runs(const FilesArguments& a);
Inputs read_files(const FilesArguments& a);
// Names on stderr the runs for which `reason` gives one, and takes them out.
void leave_out(Runs& all, std::string (*reason)(const NamedRun&));
// The same where logs and published results may stand among the results of runs.
struct Mixed {
  ScoreInputs inputs;
  int exit_code = 0;
};
Mixed read_mixed(const FilesArguments& a);
// MLPerf logs alone; a file without one log line is one too: what to make of it is the rules' to say.
NamedLog read_log(const std::string& file);
void name_left_out(const Inputs& inputs);

// Writes a report to a file, whole or not at all. Throws UsageError where it exists and `force` is false, Error where
// it cannot be written.
void write_page(const std::string& path, const std::string& text, bool force);

}  // namespace ttt::reports
