// The tables of a report as CSV (RFC 4180) with the numbers behind the cells, unrounded.
#pragma once

#include <string>

#include "reports/document.h"

namespace ttt::reports {

// Headings name tables (column "table"); paragraphs are left out. The unit is in the column's name; a column whose rows
// have several units is followed by one of units, a column of intervals becomes "... low" and "... high", one of
// numbers with an interval in brackets has these beside it. A missing number is an empty field. A text that a
// spreadsheet would take for a formula gets an apostrophe. Tables of the same columns have the same header and share it
// where they follow each other; others come after an empty line and a header of their own.
std::string render_csv(const Document& document);

}  // namespace ttt::reports
