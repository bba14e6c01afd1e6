// The tables of a report as data: the numbers behind the cells, unrounded, for CSV (RFC 4180) and JSON.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "reports/document.h"

namespace ttt::reports {

using DataField = std::variant<std::monostate, double, std::string>;  // a missing number, a number, a text

struct DataColumn {
  std::string name, unit;  // unit: empty where there is none, or where rows have several
  bool operator==(const DataColumn&) const = default;
};

struct DataTable {
  std::string name;  // the heading above it; of a second table below the same one "Accuracy 2"
  std::vector<DataColumn> columns;
  std::vector<std::vector<DataField>> rows;
};

// A column whose rows have several units is followed by one of units, a column of intervals becomes "... low" and
// "... high", one of numbers with an interval in brackets has these beside it. The signs of our labels ("= training")
// are for readers of a text and go. Tables of the same names get the same columns, whatever numbers one of them lacks.
std::vector<DataTable> data_tables(const Document& document);

// Whether the tables have the same columns, so that one file can hold their rows.
bool share_columns(const std::vector<DataTable>& tables);
// Rows of all tables below the first one's columns and "table", the name; units are in the names of columns. A text
// that a spreadsheet would take for a formula gets an apostrophe.
std::string render_csv(const std::vector<DataTable>& tables);

// {"text": [...], "tables": [{"name": ..., "columns": [{"name": ..., "unit": ...}], "rows": [{column: value}]}]}
std::string render_json(const Document& document);

// The table called `name`; where none is, those whose names begin so. Throws UsageError with the names that there are.
Document part_of(const Document& document, const std::string& name);

}  // namespace ttt::reports
