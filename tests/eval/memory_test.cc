// Detections that never were in a file: as the trainer has them, sent between ranks, evaluated in memory.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "coco/dataset.h"
#include "core/error.h"
#include "eval/coco/evaluate.h"
#include "tests/eval/bits.h"
#include "tests/eval/shared_data.h"

namespace ttt::eval::coco {
namespace {

using nlohmann::json;

std::vector<Detection> read_detections(const std::filesystem::path& file) {
  std::vector<Detection> out;
  for (const json& entry : json::parse(std::ifstream(file))) {
    Detection d{entry.at("image_id"), entry.at("category_id"), entry.at("score")};
    if (entry.contains("bbox")) d.bbox = entry.at("bbox").get<std::array<double, 4>>();
    if (entry.contains("segmentation")) {
      const json& mask = entry.at("segmentation");
      d.mask = ttt::coco::from_string(mask.at("counts").get<std::string>(), mask.at("size")[0], mask.at("size")[1]);
    }
    out.push_back(std::move(d));
  }
  return out;
}

TEST(Memory, TwoParts_EqualPycocotools) {
  TTT_NEED_DATA("eval_golden/coco128_expected.json");
  const auto data = test::shared_data();
  const json expected = json::parse(std::ifstream(data / "eval_golden/coco128_expected.json"));
  const GroundTruth truth(ttt::coco::read_instances(data / "gt_only/coco128_instances.json"));
  for (const IouType type : {IouType::kBbox, IouType::kSegm}) {
    SCOPED_TRACE(name(type));
    const std::vector<Detection> all =
        read_detections(data / "eval_golden" / (std::string("coco128_") + name(type) + "_dets.json"));
    const std::span<const Detection> span = all;
    std::vector<Detection> received;
    for (const auto part : {span.first(all.size() / 3), span.subspan(all.size() / 3)}) {
      for (Detection& d : deserialise(serialise(part))) received.push_back(std::move(d));
    }
    const Evaluation e = evaluate(truth, received, type, {.threads = 2});
    const json& want = expected.at(name(type));
    EXPECT_EQ(test::bits(e.stats), test::bits(want.at("stats_numpy_ge_2_3").get<Stats>()));
    EXPECT_EQ(test::sha256(e.curves.precision), want.at("sha256_precision_f64le"));
    EXPECT_EQ(test::sha256(e.curves.recall), want.at("sha256_recall_f64le"));
    EXPECT_EQ(test::sha256(e.curves.scores), want.at("sha256_scores_f64le"));
  }
}

TEST(Memory, SerialisedBytesKeepEveryBit) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<Detection> all = {{-1, 1ll << 60, -0.0, {tiny, 1. / 3, -1e300, 0}, {3, 4, {0, 5, 7}}},
      {7, 0, .1, {1, 2, 3, 4}, {}}, {8, 1, .2, {1, 2, 3, 4}, {0, 0, {0}}}};
  const auto back = deserialise(serialise(all));
  ASSERT_EQ(back.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(back[i].image_id, all[i].image_id);
    EXPECT_EQ(back[i].category_id, all[i].category_id);
    EXPECT_EQ(std::memcmp(&back[i].score, &all[i].score, sizeof(double)), 0);
    EXPECT_EQ(std::memcmp(&back[i].bbox, &all[i].bbox, 4 * sizeof(double)), 0);
    EXPECT_EQ(back[i].mask.height, all[i].mask.height);
    EXPECT_EQ(back[i].mask.width, all[i].mask.width);
    EXPECT_EQ(back[i].mask.counts, all[i].mask.counts);
  }
  const std::string bytes = serialise(all);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(deserialise(std::string_view(bytes).substr(0, n)), DataError);
  EXPECT_THROW(deserialise(bytes + '\0'), DataError);
}

TEST(Memory, RefusesWhatHasNoMeaning) {
  ttt::coco::Dataset dataset;
  dataset.images = {{4, 10, 10, ""}};
  dataset.categories = {{1, ""}};
  const GroundTruth boxes_only(dataset, {.masks = false});
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto run = [&](const Detection& d, IouType type = IouType::kBbox) {
    return evaluate(boxes_only, std::span<const Detection>(&d, 1), type);
  };
  EXPECT_EQ(run({4, 1, .5, {1, 1, 2, 2}, {}}).stats[0], -1);  // no objects
  EXPECT_THROW(run({5, 1, .5, {1, 1, 2, 2}, {}}), DataError);
  EXPECT_THROW(run({4, 1, nan, {1, 1, 2, 2}, {}}), DataError);
  EXPECT_THROW(run({4, 1, .5, {1, 1, inf, 2}, {}}), DataError);
  EXPECT_THROW(run({4, 1, .5, {1, 1, 2, 2}, {}}, IouType::kSegm), UsageError);
}

}  // namespace
}  // namespace ttt::eval::coco
