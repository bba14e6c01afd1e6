// A result file's text, packed for a page: the browser gets back every byte.
#pragma once

#include <string>
#include <string_view>

namespace ttt::reports {

// Step samples are most of a file, and 17 decimal digits of a number hide from a compressor that a float or a clock's
// tick made it. So lists of numbers become eight planes of bytes of doubles (all first bytes, all second bytes, ...),
// half of the size that the text would have. Where the shortest decimal that reads back to the double is not what the
// file says, its own digits are kept.
//
//   gzip(uint32 length of the header, little-endian | header, JSON | planes of all lists, one after the other)
// header: {"text": the file with "\x01" in place of each list, "lists": [counts], "own": [[index over all lists,
// digits]]}.
//
// A list of whole nanoseconds has a negative count, and its planes are those of integers: they have fewer digits.
//
// page.js unpacks it. In base64.
std::string pack_text(std::string_view text);

std::string base64(std::string_view bytes);

// As nlohmann::json writes a double: the shortest digits that read back; fixed notation from 1e-4 below 1e15, else an
// exponent of two digits.
std::string json_number(double x);

}  // namespace ttt::reports
