// coco_eval as people start it: output, JSON, and what it says about bad input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/temp_folder.h"
#include "tests/eval/shared_data.h"
#include "tests/support/python.h"

namespace ttt::test {
namespace {

// A ground truth of two images, and one box for each that hits exactly: all twelve numbers are known.
constexpr const char* kTruth =
    R"({"images": [{"id": 2, "height": 100, "width": 100}, {"id": 1, "height": 100, "width": 100}],
  "categories": [{"id": 5, "name": "thing"}], "annotations": [
  {"id": 1, "image_id": 1, "category_id": 5, "bbox": [10, 10, 20, 20], "area": 400,
   "iscrowd": 0, "segmentation": [[10, 10, 30, 10, 30, 30, 10, 30]]},
  {"id": 2, "image_id": 2, "category_id": 5, "bbox": [0, 0, 50, 50], "area": 2500,
   "segmentation": [[0, 0, 50, 0, 50, 50, 0, 50]]}]})";
constexpr const char* kHits = R"([{"image_id": 2.0, "category_id": 5, "bbox": [0, 0, 50, 50], "score": 0.5},
  {"image_id": 1, "category_id": 5, "bbox": [10, 10, 20, 20], "score": 1}])";

class Command : public testing::Test {
 protected:
  Command() {
    write_text(folder_ / "gt.json", kTruth);
    write_text(folder_ / "dt.json", kHits);
  }
  CommandResult run(const std::string& arguments, const std::string& before = "") {
    return run_command("cd " + folder_.path().string() + " && " + before + TTT_COCO_EVAL " " + arguments + " 2>&1");
  }
  void expect_refused(const std::string& arguments, int code, const std::vector<std::string>& words) {
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, code) << arguments << "\n" << r.output;
    EXPECT_EQ(std::count(r.output.begin(), r.output.end(), '\n'), 1) << r.output;
    for (const std::string& word : words)
      EXPECT_NE(r.output.find(word), std::string::npos) << arguments << "\n" << r.output;
  }
  TempFolder folder_;
};

TEST_F(Command, TwelveLinesAndJson) {
  const CommandResult r = run("gt.json dt.json --iou bbox,segm --out ap.json --threads 2");
  ASSERT_EQ(r.status, 0) << r.output;
  // pycocotools' text for this input.
  const std::string lines =
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 1.000\n"
      " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 1.000\n"
      " Average Precision  (AP) @[ IoU=0.75      | area=   all | maxDets=100 ] = 1.000\n"
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 1.000\n"
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = 1.000\n"
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = -1.000\n"
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=  1 ] = 1.000\n"
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets= 10 ] = 1.000\n"
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 1.000\n"
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 1.000\n"
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = 1.000\n"
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = -1.000\n";
  EXPECT_EQ(r.output, "TTT output 1: coco_eval, dt.json against gt.json\nEvaluate annotation type *bbox*\n" + lines +
                          "Evaluate annotation type *segm*\n" + lines +
                          "FOM bbox_ap: 1 score\nFOM segm_ap: 1 score\nTTT result: ap.json\nTTT verdict: passed\n");
  const auto json = nlohmann::json::parse(read_text(folder_ / "ap.json"));
  for (const char* type : {"bbox", "segm"}) {
    const auto stats = json.at(type).at("stats").get<std::vector<double>>();
    ASSERT_EQ(stats.size(), 12u);
    EXPECT_EQ(stats[5], -1);
    // The first hit has precision 1 / (1 + 2^-52), but a later one in the list is exactly 1.
    EXPECT_EQ(stats[0], 1);
    EXPECT_EQ(stats[6], 1);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ap.json.tmp"));
}

TEST_F(Command, EmptyDetectionsHaveNoRecall) {
  write_text(folder_ / "none.json", "[]");
  const CommandResult r = run("gt.json none.json --iou segm --out ap.json");
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(r.output.find("none.json holds no detections"), std::string::npos) << r.output;
  EXPECT_EQ(nlohmann::json::parse(read_text(folder_ / "ap.json")).at("segm").at("stats").get<std::vector<double>>(),
      (std::vector<double>{0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, -1}));
}

TEST_F(Command, ReadsPipes) {
  const CommandResult r = run("gt.json /dev/stdin", "cat dt.json | ");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_NE(r.output.find("maxDets=100 ] = 1.000"), std::string::npos) << r.output;
  expect_refused("gt.json /dev/stdin < /dev/null", 3, {"/dev/stdin", "not valid JSON"});
}

TEST_F(Command, BadArguments) {
  expect_refused("gt.json", 2, {"Two files"});
  expect_refused("gt.json dt.json more", 2, {"'more'"});
  expect_refused("gt.json dt.json --iuo bbox", 2, {"--iuo", "--iou"});
  expect_refused("gt.json dt.json --iou boxes", 2, {"--iou", "boxes"});
  expect_refused("gt.json dt.json --threads many", 2, {"--threads", "many"});
  expect_refused("gt.json absent.json", 2, {"absent.json", "No such file"});
  expect_refused("absent.json dt.json", 2, {"absent.json", "No such file"});
  expect_refused("gt.json .", 2, {"directory"});
  EXPECT_EQ(run("gt.json dt.json --out no/such/folder.json").status, 2);
  EXPECT_EQ(run("--help").status, 0);
}

TEST_F(Command, BadDetections) {
  struct Case {
    const char* text;
    std::vector<std::string> words;
    const char* type = "segm";
  };
  const std::vector<Case> cases = {
      {"", {"not valid JSON"}},
      {"[", {"not valid JSON"}},
      {"{}", {"list"}},
      {"[] []", {"not valid JSON"}},
      {"[7]", {"entry 0"}},
      {R"([{"category_id": 5, "bbox": [1, 2, 3, 4], "score": 1}])", {"entry 0", "'image_id'"}},
      {R"([{"image_id": 1, "category_id": 5, "score": 1}])", {"entry 0", "'bbox'", "'segmentation'"}},
      {R"([{"image_id": 1, "category_id": 5, "bbox": [1, 2, 3], "score": 1}])", {"entry 0", "'bbox'", "3 numbers"}},
      {R"([{"image_id": 1.5, "category_id": 5, "bbox": [1, 2, 3, 4], "score": 1}])", {"'image_id'", "whole number"}},
      {R"([{"image_id": 1, "category_id": "5", "bbox": [1, 2, 3, 4], "score": 1}])", {"'category_id'", "whole number"}},
      {R"([{"image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "score": NaN}])", {"'score'", "number"}},
      {R"([{"image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "score": 1},
           {"image_id": 3, "category_id": 5, "bbox": [1, 2, 3, 4], "score": 1}])",
          {"entry 1", "image 3", "ground truth"}},
      {R"([{"image_id": 1, "category_id": 5, "bbox": [1, 2, 1e308, 1e308], "score": 1}])", {"not finite"}, "bbox"},
      {R"([{"image_id": 1, "category_id": 5, "score": 1, "segmentation": {"size": [9, 9], "counts": "P"}}])",
          {"entry 0", "'segmentation'", "9 x 9"}},
      {R"([{"image_id": 1, "category_id": 5, "score": 1, "segmentation": {"size": [9, 9], "counts": [80]}}])",
          {"entry 0", "80 pixels", "9 x 9"}},
      {R"([{"image_id": 1, "category_id": 5, "score": 1, "segmentation": {"counts": [81]}}])", {"entry 0", "'size'"}},
      {R"([{"image_id": 1, "category_id": 5, "score": 1, "segmentation": [[1, 1, 1e12, 1, 5, 5]]}])",
          {"entry 0", "1,600,000"}},
  };
  for (const Case& c : cases) {
    write_text(folder_ / "bad.json", c.text);
    expect_refused(std::string("gt.json bad.json --iou ") + c.type, 3, c.words);
  }
}

TEST_F(Command, BadGroundTruth) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& words) {
    write_text(folder_ / "bad.json", text);
    expect_refused("bad.json dt.json --iou segm", 3, words);
  };
  const auto annotation = [](const std::string& fields) {
    return R"({"images": [{"id": 1, "height": 9, "width": 9}, {"id": 2}], "categories": [{"id": 5}],
               "annotations": [{)" +
           fields + "}]}";
  };
  refused("[]", {"object"});
  refused(R"({"images": [], "annotations": []})", {"'categories'"});
  refused(R"({"images": [{"id": "x"}], "annotations": [], "categories": []})", {"images[0]", "'id'", "whole number"});
  refused(annotation(R"("id": 31, "image_id": 1, "category_id": 5, "area": 4)"), {"annotations[0]", "31", "'bbox'"});
  refused(annotation(R"("id": 31, "image_id": 1, "category_id": 5, "bbox": [0, 0, 2, 2], "area": "4")"),
      {"annotations[0]", "31", "'area'"});
  refused(annotation(R"("id": 31, "image_id": 1, "category_id": 5, "bbox": [0, 0, 2, 2], "area": 4)"),
      {"31", "no segmentation"});
  refused(annotation(
              R"("id": 31, "image_id": 2, "category_id": 5, "bbox": [0, 0, 2, 2], "area": 4,
              "segmentation": [[1, 1, 2, 2, 3, 1]])"),
      {"31", "image 2", "height and width"});
}

// The numbers stay pycocotools', which takes these files without a word; a warning counts each oddity, and --strict
// refuses.
TEST_F(Command, OddFiles_AreCountedOrRefused) {
  write_text(folder_ / "odd_gt.json",
      R"({"images": [{"id": 1, "height": 50, "width": 50}, {"id": 1, "height": 100, "width": 100},
               {"id": 2, "height": 100, "width": 100}],
    "categories": [{"id": 5}, {"id": 5}], "annotations": [
    {"id": 1, "image_id": 1, "category_id": 5, "bbox": [10, 10, 20, 20], "area": 400,
   "iscrowd": 0, "segmentation": [[10, 10, 30, 10, 30, 30, 10, 30]]},
    {"id": 2, "image_id": 2, "category_id": 5, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0,
     "segmentation": {"size": [9, 9], "counts": [0, 81]}},
    {"id": 3, "image_id": 7, "category_id": 5, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0,
     "segmentation": [[0, 0, 9, 0, 9, 9]]},
    {"id": 4, "image_id": 1, "category_id": 6, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0,
     "segmentation": [[0, 0, 9, 0, 9, 9]]},
    {"id": 5, "image_id": 2, "category_id": 5, "bbox": [0, 0, 50, 50], "area": 2500, "iscrowd": 0,
     "segmentation": [[0, 0, 50, 0, 50, 50, 0, 50]]},
    {"id": 5, "image_id": 2, "category_id": 5, "bbox": [0, 0, 40, 50], "area": 2000, "iscrowd": 0,
     "segmentation": [[0, 0, 40, 0, 40, 50, 0, 50]]}]})");
  write_text(folder_ / "odd_dt.json",
      R"([{"image_id": 1, "category_id": 5, "score": 0.9, "segmentation": {"size": [30, 30], "counts": "0\\9hb0"}},
    {"image_id": 1, "category_id": 5, "score": 0.8, "segmentation": {"size": [100, 100], "counts": "Xo0`n1hj6"}},
    {"image_id": 2, "category_id": 5, "score": 0.7, "segmentation": {"size": [100, 100], "counts": "0Pm3`k5"}},
    {"image_id": 2, "category_id": 8, "score": 0.6, "segmentation": {"size": [100, 100], "counts": "0Pm3`k5"}}])");
  const CommandResult r = run("odd_gt.json odd_dt.json --iou segm --out odd.json");
  ASSERT_EQ(r.status, 0) << r.output;
  for (const char* kind :
      {"gt.json: images with the id of an earlier one: 1 (", "gt.json: categories with the id of an earlier one: 1 (",
          "gt.json: annotations with the id of an earlier one: 1 (", "gt.json: annotations of unlisted images: 1 (",
          "gt.json: annotations of unlisted categories: 1 (",
          "gt.json: annotations with a mask of another size than their image: 1 (",
          "dt.json: detections of unlisted categories: 1 (",
          "dt.json: detections with a mask of another size than their image: 1 ("})
    EXPECT_NE(r.output.find(std::string("coco_eval: warning: odd_") + kind), std::string::npos) << kind << "\n"
                                                                                                << r.output;
  // masks play no part
  EXPECT_EQ(run("odd_gt.json odd_dt.json --iou bbox").output.find("another size"), std::string::npos);
  expect_refused("odd_gt.json odd_dt.json --iou segm --strict", 3,
      {"odd_gt.json: images with", "; categories with", "; annotations of", "--strict"});
  expect_refused("gt.json odd_dt.json --iou segm --strict", 3, {"odd_dt.json: detections of", "; detections with"});
  EXPECT_EQ(run("gt.json dt.json --iou bbox,segm --strict").output, run("gt.json dt.json --iou bbox,segm").output);
  TTT_NEED_PYTHON("pycocotools");
  write_text(folder_ / "oracle.py", R"(
import contextlib, io, json
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
with contextlib.redirect_stdout(io.StringIO()):
    truth = COCO("odd_gt.json")
    e = COCOeval(truth, truth.loadRes("odd_dt.json"), "segm")
    e.evaluate(), e.accumulate(), e.summarize()
print(json.dumps(e.stats.tolist())))");
  const CommandResult oracle = run_command("cd " + folder_.path().string() + " && " + python() + " oracle.py 2>&1");
  ASSERT_EQ(oracle.status, 0) << oracle.output;
  const auto stats = nlohmann::json::parse(read_text(folder_ / "odd.json")).at("segm").at("stats");
  EXPECT_EQ(nlohmann::json::parse(oracle.output), stats);
  EXPECT_GT(stats[0], 0);
}

TEST_F(Command, FullDisk_IsAnError) {
  const CommandResult r = run("gt.json dt.json --iou bbox --out /dev/full");
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.output.find("Cannot write '/dev/full' (No space left on device)"), std::string::npos) << r.output;
}

TEST_F(Command, HashesAreThoseOfPycocotools) {
  TTT_NEED_DATA("eval_golden/mini_val_expected.json");
  const std::string data = shared_data().string();
  const CommandResult r =
      run(data + "/gt_only/mini_val_instances.json " + data + "/eval_golden/mini_val_segm_dets.json" +
          " --iou segm --hashes --out ap.json --numpy before-2.3");
  ASSERT_EQ(r.status, 0) << r.output;
  const auto expected =
      nlohmann::json::parse(read_text(shared_data() / "eval_golden/mini_val_expected.json")).at("segm");
  const auto json = nlohmann::json::parse(read_text(folder_ / "ap.json")).at("segm");
  EXPECT_EQ(json.at("stats").get<std::vector<double>>(), expected.at("stats_numpy_lt_2_3").get<std::vector<double>>());
  EXPECT_EQ(json.at("shape_TRKAM"), expected.at("shape_TRKAM"));
  for (const std::string array : {"precision", "recall", "scores"}) {
    EXPECT_EQ(json.at("sha256").at(array), expected.at("sha256_" + array + "_f64le"));
  }
}

}  // namespace
}  // namespace ttt::test
