// A report as headings, paragraphs and tables, rendered as plain text for a terminal or as Markdown.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace ttt::reports {

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};
struct Table {
  std::vector<std::string> header;             // may be empty: no header line
  std::vector<std::vector<std::string>> rows;  // each as long as the header, or as the first row
  std::vector<bool> right;                     // per column: aligned right (numbers); missing means left
};
using Block = std::variant<Heading, Paragraph, Table>;
using Document = std::vector<Block>;

// At most `width` columns: paragraphs and the cells of left-aligned columns wrap. Control characters of a result's
// texts become '?': a file must not steer the terminal.
std::string render_text(const Document& document, std::size_t width);
std::string render_markdown(const Document& document);

// Columns that UTF-8 text takes, counted as one per code point.
std::size_t text_width(const std::string& text);

}  // namespace ttt::reports
