#include "reports/data_tables.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "core/error.h"
#include "settings/json.h"

namespace ttt::reports {
namespace {

std::string quoted_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

// Only our own labels lose their signs: "x rest" of a result stays what it is.
std::string without_sign(const std::string& text) {
  const bool ours = std::find(std::begin(kLabels), std::end(kLabels), text) != std::end(kLabels);
  return ours && text.size() > 2 && text[1] == ' ' && std::string("=+x").find(text[0]) != std::string::npos
             ? text.substr(2)
             : printable(text);
}

// A text that a spreadsheet takes for one. The apostrophe is what OWASP recommends ("CSV Injection").
std::string safe_text(const std::string& text) {
  return !text.empty() && std::string("=+-@").find(text[0]) != std::string::npos ? "'" + text : text;
}

// The shortest text that reads back to the same number.
std::string exact(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

void line(const std::vector<std::string>& fields, std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) out.append(i ? "," : "").append(quoted_field(fields[i]));
  out += "\r\n";
}

// Kinds of values in the cells of one column.
struct Content {
  bool number = false, interval = false;
  std::set<std::string> units;
};

// Over all tables of these names.
std::vector<Content> contents(const Document& document, const std::vector<std::string>& names) {
  std::vector<Content> columns(names.size());
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

std::vector<DataColumn> columns_of(const std::vector<std::string>& names, const std::vector<Content>& contents) {
  std::vector<DataColumn> columns;
  for (std::size_t c = 0; c < names.size(); ++c) {
    const Content& content = contents[c];
    std::string name = names[c].empty() ? (c == 0 ? "name" : "remark") : without_sign(names[c]);
    std::string unit = content.units.size() == 1 ? *content.units.begin() : "";
    if (const std::size_t at = name.rfind(" ["); at != std::string::npos && name.ends_with(']'))
      unit = name.substr(at + 2, name.size() - at - 3), name.resize(at);
    if (content.number || !content.interval) columns.push_back({name, unit});
    if (content.interval) columns.insert(columns.end(), {{name + " low", unit}, {name + " high", unit}});
    if (content.units.size() > 1) columns.push_back({name + " unit", ""});
  }
  return columns;
}

std::vector<DataField> fields_of(const Row& row, const std::vector<Content>& contents) {
  std::vector<DataField> fields;
  for (std::size_t c = 0; c < contents.size(); ++c) {
    const Content& content = contents[c];
    const Cell cell = c < row.size() ? row[c] : Cell("");
    const DataField text = cell.text.empty() || cell.text == "-" ? DataField() : without_sign(cell.text);
    const std::size_t n = cell.values.size();
    if (content.number || !content.interval)
      fields.push_back(n == 0 ? text : n != 2 ? DataField(cell.values[0]) : DataField());
    if (content.interval)
      for (const std::size_t end : {0, 1})
        fields.push_back(n >= 2                                  ? DataField(cell.values[n - 2 + end])
                         : n == 0 && !content.number && end == 0 ? text
                                                                 : DataField());
    if (content.units.size() > 1) fields.push_back(cell.unit.empty() ? DataField() : DataField(cell.unit));
  }
  return fields;
}

result::Json json_of(const DataField& field) {
  if (const auto* x = std::get_if<double>(&field)) return *x;
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  return nullptr;
}

std::string csv_of(const DataField& field) {
  if (const auto* x = std::get_if<double>(&field)) return exact(*x);
  const auto* text = std::get_if<std::string>(&field);
  return text ? safe_text(*text) : "";
}

}  // namespace

std::vector<DataTable> data_tables(const Document& document) {
  std::vector<DataTable> tables;
  std::map<std::string, int> taken;
  std::string name;
  for (const Block& block : document) {
    if (const auto* heading = std::get_if<Heading>(&block)) name = printable(heading->text);
    const auto* table = std::get_if<Table>(&block);
    if (!table) continue;
    const std::vector<Content> all = contents(document, table->header.names());
    const int n = ++taken[name];
    tables.push_back({n > 1 ? name + " " + std::to_string(n) : name, columns_of(table->header.names(), all), {}});
    for (const Row& row : table->rows) tables.back().rows.push_back(fields_of(row, all));
  }
  return tables;
}

bool share_columns(const std::vector<DataTable>& tables) {
  return std::all_of(
      tables.begin(), tables.end(), [&](const DataTable& t) { return t.columns == tables.front().columns; });
}

std::string render_csv(const std::vector<DataTable>& tables) {
  std::string out;
  if (tables.empty()) return out;
  std::vector<std::string> header = {"table"};
  for (const DataColumn& c : tables.front().columns)
    header.push_back(safe_text(c.name) + (c.unit.empty() ? "" : " [" + c.unit + "]"));
  line(header, out);
  for (const DataTable& table : tables)
    for (const auto& row : table.rows) {
      std::vector<std::string> fields = {safe_text(table.name)};
      for (const DataField& field : row) fields.push_back(csv_of(field));
      line(fields, out);
    }
  return out;
}

std::string render_json(const Document& document) {
  result::Json text = result::Json::array(), tables = result::Json::array();
  for (const Block& block : document)
    if (const auto* p = std::get_if<Paragraph>(&block)) text.push_back(p->text);
  for (const DataTable& t : data_tables(document)) {
    result::Json columns = result::Json::array(), rows = result::Json::array();
    for (const DataColumn& c : t.columns) columns.push_back({{"name", c.name}, {"unit", c.unit}});
    for (const auto& fields : t.rows) {
      result::Json row = result::Json::object();
      for (std::size_t c = 0; c < fields.size(); ++c) row[t.columns[c].name] = json_of(fields[c]);
      rows.push_back(std::move(row));
    }
    tables.push_back({{"name", t.name}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return result::dump({{"text", std::move(text)}, {"tables", std::move(tables)}}) + "\n";
}

Document part_of(const Document& document, const std::string& name) {
  const std::vector<DataTable> tables = data_tables(document);
  std::string names;
  bool exact = false;
  for (const DataTable& t : tables) {
    names += (names.empty() ? "'" : ", '") + t.name + "'";
    exact = exact || t.name == name;
  }
  Document part;
  std::size_t i = 0;
  for (const Block& block : document) {
    if (!std::holds_alternative<Table>(block)) continue;
    const std::string& called = tables[i++].name;
    if (exact ? called != name : !called.starts_with(name)) continue;
    part.push_back(Heading{called});
    part.push_back(block);
  }
  if (part.empty()) throw UsageError("No table of this report is called '" + name + "'. There are: " + names + ".");
  return part;
}

}  // namespace ttt::reports
