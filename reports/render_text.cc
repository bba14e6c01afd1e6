// A document for a terminal. Tables fit its width: cells wrap between words, and a table that is too wide even then is
// turned on its side.
#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "reports/document.h"

namespace ttt::reports {
namespace {

constexpr std::size_t kGap = 2, kIndent = 2;
constexpr std::size_t kLongWord = 16;  // columns, beyond which a word may break after '/', '_', '=' and ','
constexpr std::size_t kTogether = 24;  // columns, to which the text of a number stays on one line

std::vector<std::string> split(const std::string& text, const char* after, bool keep) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(after, begin), text.size());
    const std::size_t length = end - begin + (keep && end < text.size() ? 1 : 0);
    if (length > 0) parts.push_back(text.substr(begin, length));
    begin = end + 1;
  }
  return parts;
}
std::vector<std::string> words(const std::string& text) { return split(text, " ", false); }
std::vector<std::string> pieces(const std::string& word) {
  return text_width(word) > kLongWord ? split(word, "/_,=", true) : std::vector<std::string>{word};
}

// Lines of at most `width` columns where no piece of a word is wider.
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  if (text_width(text) <= width) return {text};
  std::vector<std::string> lines = {""};
  const auto add = [&](const std::string& part, const char* space) {
    std::string& last = lines.back();
    if (last.empty()) last = part;
    else if (text_width(last) + text_width(space) + text_width(part) <= width) last.append(space).append(part);
    else lines.push_back(part);
  };
  for (const std::string& word : words(text)) {
    const char* space = " ";
    if (text_width(word) <= width) add(word, space);
    else
      for (const std::string& piece : pieces(word)) add(piece, space), space = "";
  }
  return lines;
}

std::size_t longest_piece(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& word : words(text))
    for (const std::string& piece : pieces(word)) longest = std::max(longest, text_width(piece));
  return longest;
}

Row header_row(const Table& t) { return {t.header.names().begin(), t.header.names().end()}; }
std::string text_of(const Row& row, std::size_t column) {
  return column < row.size() ? printable(row[column].text) : "";
}

// Widths that wrapped cells really take.
std::vector<std::size_t> tightened(const Table& t, const std::vector<std::size_t>& widths) {
  std::vector<std::size_t> taken(widths.size(), 0);
  const auto grow = [&](const Row& row) {
    for (std::size_t c = 0; c < widths.size(); ++c)
      for (const std::string& line : wrap(text_of(row, c), widths[c])) taken[c] = std::max(taken[c], text_width(line));
  };
  if (!t.headless) grow(header_row(t));
  for (const Row& row : t.rows) grow(row);
  return taken;
}

// How many lines each row of a table takes, the header first, while its columns become narrower.
class Heights {
 public:
  explicit Heights(const Table& t) : columns_(t.header.names().size()) {
    const auto take = [&](const Row& row) {
      for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].push_back(text_of(row, c));
    };
    if (!t.headless) take(header_row(t));
    for (const Row& row : t.rows) take(row);
  }

  // Of the whole table, with the column `c` as wide as `width` and the others as they were last set.
  std::size_t with(std::size_t c, std::size_t width) {
    const std::vector<std::size_t>& own = of(c, width);
    std::size_t total = 0;
    for (std::size_t r = 0; r < own.size(); ++r) {
      std::size_t most = own[r];
      for (std::size_t other = 0; other < columns_.size(); ++other)
        if (other != c) most = std::max(most, of(other, widths_[other])[r]);
      total += most;
    }
    return total;
  }
  void set(std::vector<std::size_t> widths) { widths_ = std::move(widths); }

 private:
  const std::vector<std::size_t>& of(std::size_t c, std::size_t width) {
    const auto [at, is_new] = known_.try_emplace({c, width});
    if (is_new)
      for (const std::string& text : columns_[c]) at->second.push_back(wrap(text, width).size());
    return at->second;
  }

  std::vector<std::vector<std::string>> columns_;
  std::vector<std::size_t> widths_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> known_;
};

// Gives as much of a column's width to another one as makes the table shortest; whether it became shorter.
bool exchange_width(
    Heights& heights, std::size_t least, std::size_t from, std::size_t to, std::vector<std::size_t>& widths) {
  heights.set(widths);
  std::size_t fewest = heights.with(from, widths[from]), best = 0;
  for (std::size_t given = 1; widths[from] >= least + given; ++given) {
    std::vector<std::size_t> tried = widths;
    tried[from] -= given, tried[to] += given;
    heights.set(tried);
    if (const std::size_t lines = heights.with(from, tried[from]); lines < fewest) fewest = lines, best = given;
  }
  widths[from] -= best, widths[to] += best;
  return best > 0;
}

// The width of each column; empty where a table does not fit.
std::vector<std::size_t> column_widths(const Table& t, std::size_t width) {
  const std::size_t n = t.header.names().size();
  std::vector<std::size_t> widths(n, 0), least(n, 0);
  const auto grow = [&](const Row& row, bool is_header) {
    for (std::size_t c = 0; c < n; ++c) {
      const std::string text = text_of(row, c);
      const std::size_t natural = text_width(text);
      const bool together = t.is_right(c) && !is_header && natural <= kTogether;
      widths[c] = std::max(widths[c], natural);
      least[c] = std::max(least[c], together ? natural : longest_piece(text));
    }
  };
  if (!t.headless) grow(header_row(t), true);
  for (const Row& row : t.rows) grow(row, false);
  const auto total = [&](const std::vector<std::size_t>& of) {
    return kIndent + std::accumulate(of.begin(), of.end(), std::size_t{0}) + (n > 0 ? kGap * (n - 1) : 0);
  };
  if (total(widths) <= width) return tightened(t, widths);
  if (total(least) > width) return {};
  // The column that makes the table longer by the fewest lines gives way, the widest of several.
  Heights heights(t);
  while (total(widths) > width) {
    heights.set(widths);
    std::size_t chosen = n, fewest = 0;
    for (std::size_t c = 0; c < n; ++c) {
      if (widths[c] == least[c]) continue;
      const std::size_t lines = heights.with(c, widths[c] - 1);
      if (chosen == n || lines < fewest || (lines == fewest && widths[c] > widths[chosen])) chosen = c, fewest = lines;
    }
    --widths[chosen];
  }
  // One column at a time finds no exchange that makes two columns better together.
  for (bool better = true; better;) {
    better = false;
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to)
        better |= from != to && exchange_width(heights, least[from], from, to, widths);
  }
  return tightened(t, widths);
}

// Words that the eye looks for, as they stand at the beginning of a text, and their colours (ECMA-48, SGR).
constexpr std::pair<std::string_view, const char*> kColours[] = {{"passed", "32"}, {"ok", "32"}, {"faster", "32"},
    {"failed", "31"}, {"incorrect", "31"}, {"not converged", "31"}, {"slower", "31"}, {"!", "33"}, {"warning", "33"},
    {"smoke", "33"}, {"interrupted", "33"}};

std::string colour_of(const std::string& text) {
  std::string low;
  for (const char c : text) low += c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [word, colour] : kColours)
    if (low.starts_with(word) &&
        (low.size() == word.size() || !std::isalnum(static_cast<unsigned char>(low[word.size()]))))
      return colour;
  return "";
}

class Text {
 public:
  Text(std::size_t width, bool coloured) : width_(width), coloured_(coloured) {}

  void add(const Block& block) {
    const bool is_table = std::holds_alternative<Table>(block);
    if (!out_.empty() && (!is_table || after_table_)) out_ += "\n";
    after_table_ = is_table;
    if (const auto* h = std::get_if<Heading>(&block)) {
      const std::string text = printable(h->text);
      add_lines(text, true);
      out_.append(std::min(width_, text_width(text)), '-').append("\n");
    } else if (const auto* p = std::get_if<Paragraph>(&block)) {
      add_lines(printable(p->text), false);
    } else {
      add_table(std::get<Table>(block));
    }
  }
  std::string take() { return std::move(out_); }

 private:
  std::string styled(const std::string& text, const std::string& colour, bool bold) const {
    if (!coloured_ || text.empty() || (colour.empty() && !bold)) return text;
    return "\x1b[" + std::string(bold ? "1" : "") + (bold && !colour.empty() ? ";" : "") + colour + "m" + text +
           "\x1b[0m";
  }

  void add_lines(const std::string& text, bool bold) {
    for (const std::string& line : wrap(text, width_)) out_.append(styled(line, colour_of(text), bold)).append("\n");
  }

  void add_row(const Table& t, const Row& row, const std::vector<std::size_t>& widths, bool bold) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      cells.push_back(wrap(text_of(row, c), widths[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::size_t at = 0;  // columns written; spaces are written before a text only, so that no line ends in them
      std::size_t begin = kIndent;
      for (std::size_t c = 0; c < widths.size(); begin += widths[c] + kGap, ++c) {
        if (line >= cells[c].size() || cells[c][line].empty()) continue;
        const std::string& text = cells[c][line];
        const std::size_t place = begin + (t.is_right(c) ? widths[c] - text_width(text) : 0);
        out_.append(place - at, ' ').append(styled(text, bold ? "" : colour_of(text_of(row, c)), bold));
        at = place + text_width(text);
      }
      out_ += "\n";
    }
  }

  bool add_fitting(const Table& t) {
    const std::vector<std::size_t> widths = column_widths(t, width_);
    if (widths.empty()) return t.header.names().empty();
    if (!t.headless) add_row(t, header_row(t), widths, true);
    for (const Row& row : t.rows) add_row(t, row, widths, false);
    return true;
  }

  void add_table(const Table& t) {
    if (add_fitting(t) || add_fitting(on_its_side(t))) return;
    for (std::size_t r = 0; r < t.rows.size(); ++r) {  // one record after the other
      if (r > 0) out_ += "\n";
      Table record{.header = {"", ""}, .headless = true};
      for (std::size_t c = 0; c < t.header.names().size(); ++c)
        record.rows.push_back({t.header.names()[c], text_of(t.rows[r], c)});
      if (add_fitting(record)) continue;
      for (const Row& line : record.rows) add_lines(line[0].text, true), add_lines(line[1].text, false);
    }
  }

  std::size_t width_;
  bool coloured_, after_table_ = false;
  std::string out_;
};

}  // namespace

std::string render_text(const Document& document, std::size_t width, bool coloured) {
  Text text(width, coloured);
  for (const Block& block : document) text.add(block);
  return text.take();
}

}  // namespace ttt::reports
