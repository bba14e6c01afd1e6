#include "reports/csv.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace ttt::reports {
namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

// A text that a spreadsheet takes for one. The signs of our labels ("= training", "x rest") are for the reader of a
// table. Any other text that begins as a formula does is a result's own and may not become one: the apostrophe is what
// OWASP recommends ("CSV Injection").
std::string safe_text(const std::string& text) {
  const bool ours = std::find(std::begin(kLabels), std::end(kLabels), text) != std::end(kLabels);
  if (ours && text.size() > 2 && text[1] == ' ' && std::string("=+x").find(text[0]) != std::string::npos)
    return text.substr(2);
  const std::string shown = printable(text);
  return !shown.empty() && std::string("=+-@").find(shown[0]) != std::string::npos ? "'" + shown : shown;
}

// The shortest text that reads back to the same number.
std::string exact(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

void line(const std::vector<std::string>& fields, std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) out.append(i ? "," : "").append(field(fields[i]));
  out += "\r\n";
}

// How one column of a table is written.
struct Column {
  bool number = false, interval = false;
  std::set<std::string> units;
};

// Over all tables of these names, so that they share one header whatever numbers one of them lacks.
std::vector<Column> columns_of(const Document& document, const std::vector<std::string>& names) {
  std::vector<Column> columns(names.size());
  for (const Block& block : document) {
    const auto* t = std::get_if<Table>(&block);
    if (!t || t->header.names() != names) continue;
    for (const Row& row : t->rows)
      for (std::size_t c = 0; c < columns.size() && c < row.size(); ++c) {
        const Cell& cell = row[c];
        if (cell.values.empty()) continue;
        columns[c].number |= cell.values.size() != 2;
        columns[c].interval |= cell.values.size() != 1;
        columns[c].units.insert(cell.unit);
      }
  }
  return columns;
}

std::vector<std::string> header(const Table& t, const std::vector<Column>& columns) {
  std::vector<std::string> names = {"table"};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c];
    const std::string name =
        t.header.names()[c].empty() ? (c == 0 ? "name" : "remark") : safe_text(t.header.names()[c]);
    const std::string unit =
        column.units.size() == 1 && !column.units.begin()->empty() ? " [" + *column.units.begin() + "]" : "";
    if (column.number || !column.interval) names.push_back(name + unit);
    if (column.interval) names.insert(names.end(), {name + " low" + unit, name + " high" + unit});
    if (column.units.size() > 1) names.push_back(name + " unit");
  }
  return names;
}

std::vector<std::string> fields_of(const std::string& table, const Row& row, const std::vector<Column>& columns) {
  std::vector<std::string> fields = {safe_text(table)};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Cell cell = c < row.size() ? row[c] : Cell("");
    const std::string text = cell.text == "-" ? "" : safe_text(cell.text);
    const std::size_t n = cell.values.size();
    if (columns[c].number || !columns[c].interval)
      fields.push_back(n == 0 ? text : n != 2 ? exact(cell.values[0]) : "");
    if (columns[c].interval)
      for (const std::size_t end : {0, 1})
        fields.push_back(n >= 2                                     ? exact(cell.values[n - 2 + end])
                         : n == 0 && !columns[c].number && end == 0 ? text
                                                                    : "");
    if (columns[c].units.size() > 1) fields.push_back(cell.unit);
  }
  return fields;
}

}  // namespace

std::string render_csv(const Document& document) {
  std::string out, name;
  std::vector<std::string> above;  // the header under which rows are being written
  for (const Block& block : document) {
    if (const auto* heading = std::get_if<Heading>(&block)) name = heading->text;
    const auto* table = std::get_if<Table>(&block);
    if (!table) continue;
    const std::vector<Column> columns = columns_of(document, table->header.names());
    const std::vector<std::string> names = header(*table, columns);
    if (names != above) {
      if (!out.empty()) out += "\r\n";
      line(names, out);
    }
    above = names;
    for (const Row& row : table->rows) line(fields_of(name, row, columns), out);
  }
  return out;
}

}  // namespace ttt::reports
