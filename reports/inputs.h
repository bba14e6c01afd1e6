// Files for a report, of any mix of kinds; the kind is seen in the content.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reports/bench.h"
#include "reports/claims.h"
#include "reports/compare.h"

namespace ttt::reports {

// A file that could not be read, and why: the report says so and continues with the others.
struct LeftOut {
  std::string name, reason;
  int exit_code = 0;
};

struct ResultFile {
  NamedRun run;
  std::string text;  // of the file, to the byte
};
struct BenchInput {
  BenchFile file;
  std::string text;
};
using Input = std::variant<ResultFile, BenchInput>;

struct Inputs {
  std::vector<ResultFile> results;
  std::vector<BenchInput> benches;
  std::optional<Ledger> ledger;  // of the first folder that holds one
  std::vector<LeftOut> left_out;
  int exit_code() const;  // the greatest of what was left out
};

// Throws UsageError (cannot be read) or DataError (truncated, edited, of neither kind).
Input read_input(const std::string& file);

// Files, and the .json files below folders in the order of their names. JSON of another kind is left out: with an
// error where it was named, silently in a folder. A file that is the same as another to the byte counts once: copies
// would pass for repetitions. The ledger of claims in a named folder is read too, or left out with what is wrong in it.
// A processor's family and model, which earlier programs did not record, are taken from results of the same host.
// Throws UsageError for a folder without any .json file.
Inputs read_inputs(const std::vector<std::string>& paths);

// Gives machines names of the user's: "TEXT" for all runs, "FILE=TEXT" or "FOLDER=TEXT" for some. Throws UsageError for
// a file or a folder that is none of the runs'.
void label_machines(const std::vector<NamedRun*>& runs, const std::vector<std::string>& labels);

}  // namespace ttt::reports
