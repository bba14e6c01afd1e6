#include "settings/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "core/text.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"

namespace ttt::result {
namespace {

using test::message_of;

TEST(Json, NonFinite_IsRefusedByKey) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
           -std::numeric_limits<double>::infinity()}) {
    Json j = {{"a", {{"b", {1.0, 2.0, {{"c", bad}}}}}}};
    EXPECT_EQ(message_of([&] { dump(j); }).substr(0, 10), "'a.b[2].c'") << bad;
    Json flat = {{"values", {0.5, bad}}};
    EXPECT_EQ(message_of([&] { dump(flat); }).substr(0, 11), "'values[1]'");
  }
  EXPECT_EQ(message_of([] { dump(Json(std::nan(""))); }).substr(0, 14), "'(the document");
}

TEST(Json, Dump_ReadsBack) {
  Json j = {{"z", 1}, {"a", {1.5, 1e-300, 0.1, 1.0 / 3}}, {"o", Json::object()}, {"l", Json::array()}, {"n", nullptr},
      {"t", "\"\\\n\t\x01ü"}, {"deep", {{{"x", {{1, 2}, {3}}}}}}};
  for (const int indent : {-1, 0, 2, 4}) EXPECT_EQ(Json::parse(dump(j, indent)), j) << indent;
  EXPECT_EQ(dump(j, -1), j.dump());  // the library's own text on one line
  EXPECT_EQ(dump(Json{{"b", 1}, {"a", {1, 2}}}), "{\n  \"b\": 1,\n  \"a\": [1, 2]\n}");
}

TEST(Json, InvalidUtf8_IsReplaced) { EXPECT_EQ(dump(Json("a\xff")), "\"a\xEF\xBF\xBD\""); }

TEST(Json, ParseError_NamesThePlace) {
  EXPECT_NE(message_of([] {
    parse("{\"a\": 1,\n  \"b\": oops}", "x.json");
  }).find("x.json is not JSON: it breaks off at line 2, column 8"),
      std::string::npos);
  EXPECT_NE(message_of([] { parse("{\"a\": [1, 2", "x.json"); }).find("ends too early"), std::string::npos);
  EXPECT_NE(message_of([] { parse("", "x.json"); }).find("ends too early"), std::string::npos);
  EXPECT_NE(message_of([] { parse("[NaN]", "x.json"); }).find("not JSON"), std::string::npos);
  EXPECT_NE(message_of([] { parse("1e999", "x.json"); }).find("x.json"), std::string::npos);
  EXPECT_NE(message_of([] { parse(std::string(100000, '['), "x.json"); }).find("200 levels"), std::string::npos);
}

// FIPS 180-4 examples and the message of NIST's long test.
TEST(Json, KeyGivenTwice_IsRefused) {
  EXPECT_EQ(
      message_of([] { parse(R"({"verdict": "failed", "a": [{"b": 1}, {"b": 2}], "verdict": "passed"})", "r.json"); }),
      "r.json has the key 'verdict' twice in one object. Take the original file.");
  EXPECT_EQ(parse(R"({"a": {"b": 1}, "c": [{"b": 1}, {"b": 2}]})", "r.json").size(), 2u);
}

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length around the padding's edges (55, 56, 63, 64, 119, 120) against hashlib.
TEST(Sha256, EveryLengthUpTo200EqualsHashlib) {
  TTT_NEED_PYTHON("hashlib");
  const auto expected = test::run_command(test::python() +
                                          " -c \"import hashlib\nfor n in range(201): print(hashlib.sha256(bytes((i * "
                                          "37 + n) % 256 for i in range(n))).hexdigest())\"");
  std::string ours;
  for (int n = 0; n <= 200; ++n) {
    std::string bytes;
    for (int i = 0; i < n; ++i) bytes += static_cast<char>((i * 37 + n) % 256);
    ours += sha256_hex(bytes) + "\n";
  }
  EXPECT_EQ(ours, expected.output);
}

}  // namespace
}  // namespace ttt::result
