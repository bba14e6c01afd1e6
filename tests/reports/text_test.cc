// Text for a terminal: whatever the tables and the width, lines fit, words stay whole and columns are aligned.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "core/rng.h"
#include "reports/document.h"

namespace ttt::reports {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Of letters of one and two bytes; "w17" is in no other word. Long ones have places to break.
std::string random_word(Stream& random, int& count) {
  std::string word = "w" + std::to_string(count++) + ".";
  for (std::uint64_t n = random.below(12); n > 0; --n) word += random.below(4) ? "a" : "é";
  if (random.below(10) == 0) word += "/long_and_longer_path/of/parts,and_more.json";
  return word;
}

Table random_table(Stream& random) {
  Table t;
  int count = 0;
  const auto cell = [&](std::uint64_t most) {
    std::string text;
    for (std::uint64_t n = random.below(most + 1); n > 0; --n)
      text += (text.empty() ? "" : " ") + random_word(random, count);
    return text;
  };
  for (std::uint64_t n = 1 + random.below(9); n > 0; --n) {
    t.header.add_data(cell(3));
    t.right.push_back(random.below(2));
  }
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    t.rows.emplace_back();
    for (std::size_t c = 0; c < t.header.names().size(); ++c) t.rows.back().push_back(cell(6));
  }
  return t;
}

std::vector<std::string> words_of(const Table& t) {
  std::string all;
  for (const std::string& name : t.header.names()) all += name + " ";
  for (const Row& row : t.rows)
    for (const Cell& c : row) all += c.text + " ";
  return words_of(all);
}

TEST(Text, RandomTables_FitTheWidth) {
  Stream random(random_bits(1, Purpose::kTest, 11));
  for (int i = 0; i < 3000; ++i) {
    const Table t = random_table(random);
    const std::size_t width = 20 + random.below(120);
    for (const std::string& line : lines_of(render_text({t}, width)))
      EXPECT_TRUE(text_width(line) <= width || words_of(line).size() == 1) << width << ":\n" << render_text({t}, width);
  }
}

// Whether `part` is all of `word`, or what stands between two places where a long word may break.
bool is_piece(const std::string& part, const std::string& word) {
  const auto breaks_after = [&](std::size_t i) {
    return i == 0 || std::string("/_,").find(word[i - 1]) != std::string::npos;
  };
  for (std::size_t at = word.find(part); at != std::string::npos; at = word.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (part == word || (text_width(word) > 16 && breaks_after(at) && (end == word.size() || breaks_after(end))))
      return true;
  }
  return false;
}

TEST(Text, RandomTables_CutNoWord) {
  Stream random(random_bits(2, Purpose::kTest, 11));
  for (int i = 0; i < 1000; ++i) {
    const Table t = random_table(random);
    const std::vector<std::string> whole = words_of(t), printed = words_of(render_text({t}, 20 + random.below(120)));
    for (const std::string& part : printed)
      EXPECT_TRUE(std::any_of(whole.begin(), whole.end(), [&](const std::string& w) { return is_piece(part, w); }))
          << part;
    for (const std::string& word : t.rows.empty() ? std::vector<std::string>() : whole) {
      const std::string name = word.substr(0, word.find('.') + 1);  // no two words have the same
      EXPECT_TRUE(std::any_of(printed.begin(), printed.end(), [&](const std::string& p) {
        return p.starts_with(name);
      })) << word;
    }
  }
}

// Words of a column begin with its letter: on every line they begin, or end, in the same column of the terminal.
TEST(Text, WrappedCells_StandBelowEachOther) {
  Stream random(random_bits(3, Purpose::kTest, 11));
  for (int i = 0; i < 1000; ++i) {
    Table t;
    const std::size_t columns = 2 + random.below(4);
    const auto cell = [&](std::size_t c, std::uint64_t most) {
      std::string text;
      for (std::uint64_t n = 1 + random.below(most); n > 0; --n) {
        text += (text.empty() ? "" : " ") + std::string(1, static_cast<char>('a' + c));
        for (std::uint64_t letters = random.below(9); letters > 0; --letters) text += "é";
      }
      return text;
    };
    for (std::size_t c = 0; c < columns; ++c) t.header.add_data(cell(c, 3)), t.right.push_back(random.below(2));
    for (std::uint64_t n = random.below(5); n > 0; --n) {
      t.rows.emplace_back();
      for (std::size_t c = 0; c < columns; ++c) t.rows.back().push_back(cell(c, t.right[c] ? 1 : 5));
    }
    std::vector<std::set<std::size_t>> places(columns);
    for (const std::string& line : lines_of(render_text({t}, columns * 12 + random.below(40)))) {
      std::vector<std::size_t> first(columns, 0), last(columns, 0);
      std::size_t at = 0;
      for (const std::string& word : words_of(line)) {
        at = line.find(word, at);
        const auto c = static_cast<std::size_t>(word[0] - 'a');
        const std::size_t begin = text_width(line.substr(0, at));
        at += word.size(), last[c] = text_width(line.substr(0, at));
        if (first[c] == 0) first[c] = begin;
      }
      for (std::size_t c = 0; c < columns; ++c)
        if (last[c] > 0) places[c].insert(t.right[c] ? last[c] : first[c]);
    }
    for (std::size_t c = 0; c < columns; ++c)
      EXPECT_EQ(places[c].size(), 1u) << "column " << c << "\n" << render_text({t}, 80);
  }
}

TEST(Text, NarrowTerminal_TableWrapsThenTurns) {
  Table t{.header = {"machine", "runs", "time to target", "images/s"}, .right = {false, true, true, true}};
  t.rows = {{"a machine", "3", "95.2 s", "70.4"}, {"b", "12", "8.5 s", "700.0"}};
  EXPECT_EQ(render_text({t}, 43),
      "  machine    runs  time to target  images/s\n"
      "  a machine     3          95.2 s      70.4\n"
      "  b            12           8.5 s     700.0\n");
  EXPECT_EQ(render_text({t}, 36),
      "  machine    runs  time to  images/s\n"
      "                    target\n"
      "  a machine     3   95.2 s      70.4\n"
      "  b            12    8.5 s     700.0\n");
  EXPECT_EQ(render_text({t}, 32),
      "  machine   a machine      b\n"
      "  runs              3     12\n"
      "  time to      95.2 s  8.5 s\n"
      "  target\n"
      "  images/s       70.4  700.0\n");
  EXPECT_EQ(render_text({t}, 24),
      "  machine   a machine\n"
      "  runs      3\n"
      "  time to   95.2 s\n"
      "  target\n"
      "  images/s  70.4\n"
      "\n"
      "  machine         b\n"
      "  runs            12\n"
      "  time to target  8.5 s\n"
      "  images/s        700.0\n");
}

// ECMA-48: 1 is bold, 31 red, 32 green, 33 yellow, 0 ends it.
TEST(Text, Coloured_VerdictsAndHeadingsStandOut) {
  Table t{.header = {"file", "verdict"}, .rows = {{"a", "passed"}, {"b", "not_converged"}, {"passing", "smoke"}}};
  const std::string text =
      render_text({Heading{"PASSED: box AP 0.5"}, t, Paragraph{"! Other days."}, Paragraph{"Okapi."}}, 80, true);
  EXPECT_EQ(text,
      "\x1b[1;32mPASSED: box AP 0.5\x1b[0m\n------------------\n"
      "  \x1b[1mfile\x1b[0m     \x1b[1mverdict\x1b[0m\n"
      "  a        \x1b[32mpassed\x1b[0m\n"
      "  b        \x1b[31mnot_converged\x1b[0m\n"
      "  passing  \x1b[33msmoke\x1b[0m\n\n"
      "\x1b[33m! Other days.\x1b[0m\n\nOkapi.\n");
}

}  // namespace
}  // namespace ttt::reports
