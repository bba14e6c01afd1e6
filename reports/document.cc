#include "reports/document.h"

#include <algorithm>

namespace ttt::reports {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the first `columns` code points.
std::size_t prefix_bytes(const std::string& text, std::size_t columns) {
  std::size_t i = 0;
  for (; i < text.size(); ++i)
    if (!is_continuation(text[i]) && columns-- == 0) break;
  return i;
}

// Lines of at most `width` columns, broken at spaces where there are any.
std::vector<std::string> wrap(std::string text, std::size_t width) {
  std::vector<std::string> lines;
  while (text_width(text) > width) {
    const std::size_t fit = prefix_bytes(text, width);
    std::size_t at = text.rfind(' ', fit);
    if (at == std::string::npos || at == 0) at = fit;
    lines.push_back(text.substr(0, at));
    const std::size_t next = text.find_first_not_of(' ', at);
    text = next == std::string::npos ? "" : text.substr(next);
  }
  lines.push_back(text);
  return lines;
}

std::size_t columns_of(const Table& t) { return t.header.names().size(); }
Row header_row(const Table& t) { return {t.header.names().begin(), t.header.names().end()}; }
bool is_right(const Table& t, std::size_t column) { return column < t.right.size() && t.right[column]; }

constexpr std::size_t kGap = 2, kIndent = 2, kNarrowest = 8;

std::vector<std::size_t> column_widths(const Table& t, std::size_t width) {
  std::vector<std::size_t> widths(columns_of(t), 0);
  const auto grow = [&](const Row& row) {
    for (std::size_t c = 0; c < widths.size() && c < row.size(); ++c)
      widths[c] = std::max(widths[c], text_width(printable(row[c].text)));
  };
  if (!t.headless) grow(header_row(t));
  for (const Row& row : t.rows) grow(row);
  for (;;) {  // the widest left-aligned column gives way until the table fits
    std::size_t total = kIndent, widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      total += widths[c] + (c ? kGap : 0);
      if (!is_right(t, c) && widths[c] > kNarrowest && (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    }
    if (total <= width || widest == widths.size()) return widths;
    widths[widest] = std::max(kNarrowest, widths[widest] - std::min(widths[widest], total - width));
  }
}

void write_row(const Table& t, const Row& row, const std::vector<std::size_t>& widths, std::string& out) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    cells.push_back(c < row.size() ? wrap(printable(row[c].text), std::max<std::size_t>(1, widths[c]))
                                   : std::vector<std::string>{""});
    height = std::max(height, cells.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text(kIndent, ' ');
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string cell = line < cells[c].size() ? cells[c][line] : "";
      const std::string space(widths[c] - std::min(widths[c], text_width(cell)), ' ');
      if (c) text.append(kGap, ' ');
      text += is_right(t, c) ? space + cell : cell + space;
    }
    out.append(text, 0, text.find_last_not_of(' ') + 1).append("\n");
  }
}

void write_text(const Table& t, std::size_t width, std::string& out) {
  const std::vector<std::size_t> widths = column_widths(t, width);
  if (!t.headless) write_row(t, header_row(t), widths, out);
  for (const Row& row : t.rows) write_row(t, row, widths, out);
}

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
  for (std::size_t c = 0; c < columns_of(t); ++c) out += is_right(t, c) ? "---:|" : "---|";
  out += "\n";
  for (const Row& row : t.rows) line(row);
}

}  // namespace

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

std::string render_text(const Document& document, std::size_t width) {
  std::string out;
  bool after_table = false;
  for (const Block& block : document) {
    const bool is_table = std::holds_alternative<Table>(block);
    if (!out.empty() && (!is_table || after_table)) out += "\n";
    after_table = is_table;
    if (const auto* h = std::get_if<Heading>(&block)) {
      const std::string text = printable(h->text);
      out.append(text).append("\n").append(std::min(width, text_width(text)), '-').append("\n");
    } else if (const auto* p = std::get_if<Paragraph>(&block)) {
      for (const std::string& line : wrap(printable(p->text), width)) out.append(line).append("\n");
    } else {
      write_text(std::get<Table>(block), width, out);
    }
  }
  return out;
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
