// Fuzz targets of COCO's readers. For any bytes a reader returns or throws ttt::Error, and whatever it accepts is
// consistent. A violation prints a line and calls std::abort. Both drivers report the input: fuzz_test.cc (corpus and
// seeded mutations, part of the tests) and libfuzzer_main.cc (coverage-guided search).
#pragma once

#include <string>
#include <string_view>

namespace ttt::test {

using FuzzTarget = bool (*)(std::string_view bytes);  // returns whether they were accepted

bool fuzz_rle(std::string_view bytes);         // byte 0: height, byte 1: width, then the string
bool fuzz_instances(std::string_view bytes);   // a ground truth file
bool fuzz_results(std::string_view bytes);     // a result file, against a small ground truth
bool fuzz_serialised(std::string_view bytes);  // detections from another rank

// "rle", "instances", "results", "serialised"; nullptr for anything else.
FuzzTarget fuzz_target(std::string_view name);

}  // namespace ttt::test
