// A document as HTML: every table in a box that scrolls, with its caption, and the number behind each cell for sorting.
#include <charconv>

#include "reports/html.h"

namespace ttt::reports {
namespace {

std::string cell_html(const Cell& cell, bool right, bool names_row) {
  constexpr std::size_t kShort = 40;  // columns: what a narrow table should not break into lines
  std::string attributes = right ? " class=\"n\"" : text_width(cell.text) <= kShort ? " class=\"s\"" : "";
  if (!cell.values.empty()) {
    char text[32];
    attributes.append(" data-v=\"")
        .append(text, std::to_chars(text, text + sizeof text, cell.values.front()).ptr)
        .append("\"");
  }
  const std::string tag = names_row ? "th" : "td";
  return std::string("<")
      .append(tag)
      .append(names_row ? " scope=\"row\"" : "")
      .append(attributes)
      .append(">")
      .append(html_escaped(cell.text))
      .append("</")
      .append(tag)
      .append(">");
}

// On the page of the published results, 1400 px wide, each table of 8 columns fits, and 14 of 17 tables of 10 do not.
// Four rows become a table of five columns, which fits.
bool is_too_wide(const Table& t) { return t.header.names().size() > 9 && t.rows.size() <= 4 && !t.headless; }

void write_table(const Table& t, const std::string& caption, std::string& out) {
  const auto right = [&](std::size_t c) { return c < t.right.size() && t.right[c]; };
  const std::string name = html_escaped(caption);
  out += "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + name + "\"><table><caption>" + name +
         "</caption>\n<thead" + (t.headless ? " class=\"hidden\"" : "") + "><tr>";
  const auto& names = t.header.names();
  for (std::size_t c = 0; c < names.size(); ++c)
    out += std::string("<th scope=\"col\"") + (right(c) ? " class=\"n\"" : "") + ">" +
           (names[c].empty() ? std::string("<span class=\"hidden\">") + (c == 0 ? "name" : "remark") + "</span>"
                             : html_escaped(names[c])) +
           "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const Row& row : t.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < names.size(); ++c)
      out += cell_html(c < row.size() ? row[c] : Cell(""), right(c), c == 0);
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
}

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string render_html(const Document& document, const std::string& caption) {
  std::string out, name = caption;
  for (const Block& block : document) {
    if (const auto* h = std::get_if<Heading>(&block)) {
      name = h->text;
      out += "<h3>" + html_escaped(name) + "</h3>\n";
    } else if (const auto* p = std::get_if<Paragraph>(&block)) {
      out += "<p>" + html_escaped(p->text) + "</p>\n";
    } else {
      const Table& t = std::get<Table>(block);
      write_table(is_too_wide(t) ? on_its_side(t) : t, name, out);
    }
  }
  return out;
}

}  // namespace ttt::reports
