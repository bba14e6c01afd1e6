#include "core/nearest.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace ttt {
namespace {

std::string_view last_part(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

// Whether so many edits can be a slip of the keyboard.
bool is_slip(int distance, std::string_view word) {
  const auto letters = static_cast<int>(word.size());
  return distance <= std::max(2, letters / 3) && distance < letters;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // A key is short; a hostile file's need not be, and the table is quadratic.
  a = a.substr(0, 200), b = b.substr(0, 200);
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = std::numeric_limits<int>::max();
  const bool grouped = name.find('.') != std::string::npos;
  for (const std::string& candidate : candidates) {
    // Doubled, so that a match of the last part alone loses against an equally good match of the whole. Within a group
    // that was named, another group's key is only meant where its last part is exactly right.
    const int whole = edit_distance(name, candidate), part = edit_distance(last_part(name), last_part(candidate));
    if (is_slip(whole, name) && 2 * whole < best_distance) best_distance = 2 * whole, best = candidate;
    if ((grouped ? part == 0 : is_slip(part, name)) && 2 * part + 1 < best_distance)
      best_distance = 2 * part + 1, best = candidate;
  }
  return best;
}

std::string nearest_and(
    const std::string& name, const std::vector<std::string>& candidates, const std::string& remedy) {
  const std::string close = nearest(name, candidates);
  if (!close.empty()) return " The nearest is '" + close + "'; " + remedy;
  std::string sentence = " " + remedy;
  sentence[1] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[1])));
  return sentence;
}

}  // namespace ttt
