#include "reports/document.h"

#include <algorithm>

namespace ttt::reports {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t columns_of(const Table& t) { return t.header.names().size(); }
Row header_row(const Table& t) { return {t.header.names().begin(), t.header.names().end()}; }

// What Markdown would read as markup in a sentence or a cell.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string("\\|*_`<>[]").find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

void write_markdown(const Table& t, std::string& out) {
  const auto line = [&](const Row& row) {
    out += "|";
    for (std::size_t c = 0; c < columns_of(t); ++c)
      out.append(" ").append(c < row.size() ? escaped(row[c].text) : "").append(" |");
    out += "\n";
  };
  line(header_row(t));  // Markdown has no table without a header line
  out += "|";
  for (std::size_t c = 0; c < columns_of(t); ++c) out += t.is_right(c) ? "---:|" : "---|";
  out += "\n";
  for (const Row& row : t.rows) line(row);
}

}  // namespace

Table on_its_side(const Table& t) {
  const std::vector<std::string>& names = t.header.names();
  const auto cell = [](const Row& row, std::size_t column) { return column < row.size() ? row[column] : Cell(""); };
  Table side{.header = {}, .right = {false}};
  side.header.add_data(names[0]);
  for (const Row& row : t.rows) side.header.add_data(cell(row, 0).text);
  bool numbers = true;
  for (std::size_t c = 1; c < names.size(); ++c) {
    numbers = numbers && t.is_right(c);
    Row line = {names[c]};
    for (const Row& row : t.rows) line.push_back(cell(row, c));
    side.rows.push_back(std::move(line));
  }
  side.right.resize(side.header.names().size(), numbers);
  return side;
}

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) ++i;
    out += c == '\n' || c == '\t' ? ' ' : c < 0x20 || c == 0x7F || c1 ? '?' : text[i];
  }
  return out;
}

std::size_t text_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string render_markdown(const Document& document) {
  std::string out;
  for (const Block& block : document) {
    if (!out.empty()) out += "\n";
    if (const auto* h = std::get_if<Heading>(&block)) {
      out.append("## ").append(escaped(h->text)).append("\n");
    } else if (const auto* p = std::get_if<Paragraph>(&block)) {
      out.append(escaped(p->text)).append("\n");
    } else {
      write_markdown(std::get<Table>(block), out);
    }
  }
  return out;
}

}  // namespace ttt::reports
