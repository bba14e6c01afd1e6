// The suite's one JSON type, and the only ways in and out of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ttt::result {

// Keys stay in the order in which they were written: the verdict is read before the numbers.
using Json = nlohmann::ordered_json;

// Text of `value` (UTF-8, `indent` spaces, -1: one line, no final newline). JSON has no NaN and no infinity, and the
// library would write `null` in their place without a word: throws Incorrect naming the key path of the first one.
// Bytes that are not UTF-8 (a file name, an environment variable) become U+FFFD: they must not cost a result.
// Arrays of numbers are written on one line: a file of 100,000 step times stays readable beside them.
std::string dump(const Json& value, int indent = 2);

// Parses strict JSON; `name` is what an error calls the text. Throws DataError with line and column.
Json parse(std::string_view text, const std::string& name);

// A member that must be there and have the right type; `path` is the key path for the message of DataError.
const Json& member(const Json& object, const std::string& key, const std::string& path);

// For what was read and written again (`known`): a key of `given` that is not in it was misspelt. Looks into lists of
// objects, too. Throws DataError naming it and `noun`, what has such keys: "claim".
void refuse_unknown_keys(const Json& given, const Json& known, const std::string& path, const std::string& noun);

}  // namespace ttt::result
