#include "reports/expression.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace ttt::reports {
namespace {

using result::fixed;
using result::quote;

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_of_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

constexpr int kDeepest = 64;  // brackets and signs within one another: each is a call of the parser

// sum = product {(+|-) product};  product = factor {(*|/) factor};  factor = number | name | - factor | ( sum )
class Parser {
 public:
  Parser(const std::string& text, const Numbers& numbers) : text_(text), numbers_(numbers) {}

  double whole() {
    const double value = sum();
    if (peek() != '\0') fail("ends before '" + text_.substr(at_) + "'");
    if (!std::isfinite(value)) fail("has no finite value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError("The arithmetic " + quote(text_) + " " + what + ". Correct it in the ledger.");
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  double sum() {
    double value = product();
    for (;;)
      if (take('+')) value += product();
      else if (take('-')) value -= product();
      else return value;
  }
  double product() {
    double value = factor();
    for (;;)
      if (take('*')) value *= factor();
      else if (take('/')) value /= factor();
      else return value;
  }
  double factor() {
    if (++depth_ > kDeepest) fail("is nested too deep");
    double value = 0;
    if (take('-')) {
      value = -factor();
    } else if (take('(')) {
      value = sum();
      if (!take(')')) fail("lacks a closing bracket");
    } else {
      value = begins_name(peek()) ? name() : number();
    }
    --depth_;
    return value;
  }
  double name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    const auto found = numbers_.find(text_.substr(begin, at_ - begin));
    if (found == numbers_.end())
      fail("names '" + text_.substr(begin, at_ - begin) + "', which is no fact of the claim");
    return found->second;
  }
  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("lacks a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  const std::string& text_;
  const Numbers& numbers_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate(const std::string& expression, const Numbers& numbers) { return Parser(expression, numbers).whole(); }

std::string with_numbers(const std::string& expression, const Numbers& numbers) {
  std::string out;
  for (std::size_t i = 0; i < expression.size();) {
    if (!begins_name(expression[i])) {
      out += expression[i++];
      continue;
    }
    std::size_t end = i;
    while (end < expression.size() && is_of_name(expression[end])) ++end;
    const auto found = numbers.find(expression.substr(i, end - i));
    out += found == numbers.end() ? expression.substr(i, end - i) : fixed("%.10g", found->second);
    i = end;
  }
  return out;
}

}  // namespace ttt::reports
