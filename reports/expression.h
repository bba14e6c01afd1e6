// Arithmetic of a few named numbers, as a ledger of claims writes it: "100 * (before - after) / before".
#pragma once

#include <map>
#include <string>

namespace ttt::reports {

using Numbers = std::map<std::string, double>;

// The value of numbers, names, + - * / and brackets, in the usual order. Throws DataError where it is no such
// expression, names an unknown number, or has no finite value.
double evaluate(const std::string& expression, const Numbers& numbers);

// The expression with the numbers in place of their names: "100 * (85.98 - 58) / 85.98".
std::string with_numbers(const std::string& expression, const Numbers& numbers);

}  // namespace ttt::reports
