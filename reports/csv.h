// The tables of a report as CSV (RFC 4180) with the numbers behind the cells, unrounded.
#pragma once

#include <string>

#include "reports/document.h"

namespace ttt::reports {

// Headings name tables (column "table"); paragraphs are left out. The unit is in the column's name; a column whose rows have several units is
// followed by one of units, a column of intervals becomes "... low" and "... high". A missing number is an empty field. Tables of equal columns in a
// row share one header; others follow after an empty line.
std::string render_csv(const Document& document);

}  // namespace ttt::reports
