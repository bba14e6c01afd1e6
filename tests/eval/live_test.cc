// Masks and evaluation against pycocotools itself, on random inputs made by oracle.py.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "coco/dataset.h"
#include "core/temp_folder.h"
#include "eval/coco/evaluate.h"
#include "eval/coco/results.h"
#include "tests/eval/bits.h"
#include "tests/support/python.h"

namespace ttt::eval::coco {
namespace {

using nlohmann::json;

// TTT_COCO_SETS and TTT_COCO_SEED widen the search beyond what a test run has time for.
std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

test::CommandResult oracle(const std::string& arguments) {
  return test::run_command(test::python() + " " TTT_SOURCE_DIR "/tests/eval/oracle.py " + arguments + " 2>&1");
}

TEST(Live, RandomPolygonsEqualPycocotools) {
  TTT_NEED_PYTHON("pycocotools");
  TempFolder folder;
  const auto file = folder / "polygons.json";
  const auto made = oracle("polygons " + variable("TTT_COCO_SEED", "5") + " 3000 " + file.string());
  ASSERT_EQ(made.status, 0) << made.output;
  for (const json& c : json::parse(std::ifstream(file))) {
    const auto polygons = c.at("polygons").get<std::vector<ttt::coco::Polygon>>();
    const ttt::coco::Rle rle = ttt::coco::rasterize(polygons, c.at("h"), c.at("w"));
    ASSERT_EQ(ttt::coco::to_string(rle), c.at("counts")) << c.dump();
    ASSERT_EQ(ttt::coco::area(rle), c.at("area").get<std::uint64_t>());
    ASSERT_EQ(ttt::coco::bounding_box(rle), (c.at("bbox").get<std::array<double, 4>>())) << c.dump();
  }
}

TEST(Live, RandomSetsEqualPycocotools) {
  TTT_NEED_PYTHON("pycocotools");
  TempFolder folder;
  const auto made = oracle(
      "sets " + variable("TTT_COCO_SEED", "17") + " " + variable("TTT_COCO_SETS", "60") + " " + folder.path().string());
  ASSERT_EQ(made.status, 0) << made.output;
  const json expected = json::parse(std::ifstream(folder / "expected.json"));
  // The rule by which numpy adds changed with 2.3.
  const std::string numpy = expected.at("numpy");
  const int major = std::stoi(numpy), minor = std::stoi(numpy.substr(numpy.find('.') + 1));
  const NumpySum sum = major * 1000 + minor >= 2003 ? NumpySum::kFrom2_3 : NumpySum::kBefore2_3;
  ThreadPool pool(2);
  for (std::size_t i = 0; i < expected.at("sets").size(); ++i) {
    const std::string name = std::to_string(i);
    const GroundTruth truth(ttt::coco::read_instances(folder / (name + ".gt.json")));
    const ResultFile results = read_results(folder / (name + ".dt.json"), truth, {.pool = &pool});
    const Prepared prepared(truth, results.detections, &pool);
    for (const IouType type : {IouType::kBbox, IouType::kSegm}) {
      SCOPED_TRACE("set " + name + " " + coco::name(type));
      const json& e = expected.at("sets")[i].at(coco::name(type));
      const Evaluation ours = evaluate(prepared, type, sum, &pool);
      ASSERT_EQ(test::bits(ours.stats), test::bits(e.at("stats").get<Stats>()));
      ASSERT_EQ(ours.curves.categories, e.at("shape")[2].get<std::int64_t>());
      ASSERT_EQ(test::sha256(ours.curves.precision), e.at("precision"));
      ASSERT_EQ(test::sha256(ours.curves.recall), e.at("recall"));
      ASSERT_EQ(test::sha256(ours.curves.scores), e.at("scores"));
    }
  }
}

}  // namespace
}  // namespace ttt::eval::coco
