// Figures of merit: the few numbers of a result that the last lines of a program say. docs/fom.md has the grammar.
#pragma once

#include <string>
#include <vector>

#include "result/run_record.h"

namespace ttt::result {

struct Figure {
  std::string name;  // letters, digits, '_' and '.'
  double value = 0;
  std::string unit;  // without blanks; always the same for one name
};

// The figures of a record, by the derivations of the reports.
std::vector<Figure> figures_of(const RunRecord& record);

// "FOM time_to_target: 95.1971 s"
std::string figure_line(const Figure& figure);

// "PASSED in 95.2 s: box AP 0.6114 and mask AP 0.5353 after 4 epochs, ...; 70.2 images/s"
std::string headline(const RunRecord& record);

// The command of `report` that shows such a record: "ablations" where something is compared, else "show".
std::string report_command(const RunRecord& record);

// "1,600"
std::string grouped_digits(std::int64_t n);

}  // namespace ttt::result
