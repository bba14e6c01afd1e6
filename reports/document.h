// A report as headings, paragraphs and tables, rendered as plain text for a terminal, as Markdown, as CSV or as HTML.
#pragma once

#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "reports/labels.h"

namespace ttt::reports {

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};

// A text for people and, where the cell is a number, the number behind it, unrounded: CSV prints it, HTML sorts by it.
struct Cell {
  std::string text;
  // none: a text or a missing number; two: the ends of an interval; three: a number and the ends of its interval
  std::vector<double> values;
  // of the values; empty where they have none, or where the row's or the column's name says it
  std::string unit;

  Cell(const char* t) : text(t) {}
  Cell(std::string t) : text(std::move(t)) {}
  Cell(std::string t, double value, std::string u = "") : text(std::move(t)), values{value}, unit(std::move(u)) {}
  Cell(std::string t, double low, double high, std::string u)
      : text(std::move(t)), values{low, high}, unit(std::move(u)) {}
};
using Row = std::vector<Cell>;

// Names of columns: labels that METRICS.md derives, or what the data calls its columns (the letter of a run, a
// benchmark's counter).
class Header {
 public:
  Header() = default;
  Header(std::initializer_list<Label> labels) {
    for (const Label& l : labels) names_.emplace_back(l.text());
  }
  void add(Label label) { names_.emplace_back(label.text()); }
  void add_data(std::string name) { names_.push_back(std::move(name)); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

struct Table {
  Header header;
  std::vector<Row> rows = {};    // each as long as the header
  std::vector<bool> right = {};  // per column: aligned right (numbers); missing means left
  bool headless = false;         // the rows name their numbers: a terminal needs no line of column names

  bool is_right(std::size_t column) const { return column < right.size() && right[column]; }
  // A row that is named by what it shows.
  void add(Label name, Row cells) {
    cells.insert(cells.begin(), Cell(std::string(name.text())));
    rows.push_back(std::move(cells));
  }
};
using Block = std::variant<Heading, Paragraph, Table>;
using Document = std::vector<Block>;

// The transposed table: a column for each row, named by its first cell, and a row for each other column, named by its
// header.
Table on_its_side(const Table& table);

// At most `width` columns, unless a single word is wider: texts wrap between words, and long words after '/', '_', '='
// and ','. A table that is too wide even so is turned: a column for each row, or one row below the other. Control
// characters of a result's texts become '?': a file must not steer the terminal. `coloured`: with ECMA-48's codes.
std::string render_text(const Document& document, std::size_t width, bool coloured = false);
std::string render_markdown(const Document& document);

// Columns that UTF-8 text takes, counted as one per code point.
std::size_t text_width(const std::string& text);

// Printable text: C0 and C1 control characters become '?', a line break becomes a space.
std::string printable(const std::string& text);

}  // namespace ttt::reports
