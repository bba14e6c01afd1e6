// Evaluation against results that pycocotools computed: twelve statistics and three arrays, to the bit.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "coco/dataset.h"
#include "core/temp_folder.h"
#include "eval/coco/evaluate.h"
#include "eval/coco/results.h"
#include "tests/eval/bits.h"
#include "tests/eval/shared_data.h"
#include "tests/support/python.h"

namespace ttt::eval::coco {
namespace {

using nlohmann::json;

json read_json(const std::filesystem::path& file) { return json::parse(std::ifstream(file)); }

void expect_equal(const json& expected, const GroundTruth& truth, const ResultFile& results, IouType type) {
  for (const int threads : {1, 3}) {
    const Evaluation e = evaluate(truth, results.detections, type, {.threads = threads, .sum = NumpySum::kFrom2_3});
    EXPECT_EQ(test::bits(e.stats), test::bits(expected.at("stats_numpy_ge_2_3").get<Stats>()));
    EXPECT_EQ(test::bits(summarise(e.curves, NumpySum::kBefore2_3)),
        test::bits(expected.at("stats_numpy_lt_2_3").get<Stats>()));
    EXPECT_EQ(e.curves.categories, expected.at("shape_TRKAM")[2].get<std::int64_t>());
    EXPECT_EQ(test::sha256(e.curves.precision), expected.at("sha256_precision_f64le"));
    EXPECT_EQ(test::sha256(e.curves.recall), expected.at("sha256_recall_f64le"));
    EXPECT_EQ(test::sha256(e.curves.scores), expected.at("sha256_scores_f64le"));
  }
}

struct Set {
  const char *name, *truth, *boxes, *masks;
};
void PrintTo(const Set& s, std::ostream* out) { *out << s.name; }

class GoldenSet : public testing::TestWithParam<Set> {};

TEST_P(GoldenSet, EqualsPycocotools) {
  const Set& set = GetParam();
  const std::string expected_file = std::string("eval_golden/") + set.name + "_expected.json";
  TTT_NEED_DATA(expected_file);
  const json expected = read_json(test::shared_data() / expected_file);
  const GroundTruth truth(ttt::coco::read_instances(test::shared_data() / set.truth));
  ThreadPool pool(2);
  TempFolder folder;
  int compared = 0;
  for (const auto& [key, values] : expected.items()) {
    SCOPED_TRACE(key);
    const IouType type = key == "bbox" ? IouType::kBbox : IouType::kSegm;
    std::filesystem::path file = test::shared_data() / (type == IouType::kBbox ? set.boxes : set.masks);
    if (key == "segm_with_bbox_field") {
      // Every entry with the box around its mask: object sizes are then those of the boxes.
      json entries = read_json(file);
      const ResultFile plain = read_results(file, truth, {.pool = &pool});
      for (std::size_t i = 0; i < entries.size(); ++i) entries[i]["bbox"] = plain.detections[i].bbox;
      file = folder / "with_boxes.json";
      test::write_text(file, entries.dump());
    }
    // In pieces much smaller than by default, so that there are many.
    const ReadOptions pieces{.masks = type == IouType::kSegm, .pool = &pool, .piece_bytes = 10000};
    expect_equal(values, truth, read_results(file, truth, pieces), type);
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(Sets, GoldenSet,
    testing::Values(Set{"coco128", "gt_only/coco128_instances.json", "eval_golden/coco128_bbox_dets.json",
                        "eval_golden/coco128_segm_dets.json"},
        Set{"mini_val", "gt_only/mini_val_instances.json", "eval_golden/mini_val_bbox_dets.json",
            "eval_golden/mini_val_segm_dets.json"},
        Set{"tiny_val", "gt_only/tiny_val_instances.json", "eval_golden/tiny_val_bbox_dets.json",
            "eval_golden/tiny_val_segm_dets.json"},
        Set{"val2014_100", "val2014_100/instances_val2014_100.json",
            "val2014_100/instances_val2014_fakebbox100_results.json",
            "val2014_100/instances_val2014_fakesegm100_results.json"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Golden, EdgeCasesEqualPycocotools) {
  TTT_NEED_DATA("eval_golden/edge_cases.json");
  const json file = read_json(test::shared_data() / "eval_golden/edge_cases.json");
  ASSERT_EQ(file.at("cases").size(), 226u);
  TempFolder folder;
  for (const json& c : file.at("cases")) {
    SCOPED_TRACE("case " + c.at("case").dump());
    test::write_text(folder / "gt.json", c.at("gt").dump());
    test::write_text(folder / "dt.json", c.at("dets").dump());
    const IouType type = c.at("iouType") == "bbox" ? IouType::kBbox : IouType::kSegm;
    const GroundTruth truth(ttt::coco::read_instances(folder / "gt.json"), {.masks = type == IouType::kSegm});
    expect_equal(
        c.at("expected"), truth, read_results(folder / "dt.json", truth, {.masks = type == IouType::kSegm}), type);
  }
}

}  // namespace
}  // namespace ttt::eval::coco
