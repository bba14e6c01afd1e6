// Batches of decoded bytes (DataSettings::transform = device), preprocessed by the reference implementation, against
// those that workers make.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "data/loader.h"
#include "data/transform.h"
#include "kernels/preprocess/preprocess.h"
#include "tests/data/tiny_set.h"

namespace ttt::data {
namespace {

std::vector<float> placed(const HostBatch& b, const DataSettings& s) {
  const PixelValues values = pixel_values(s);
  std::vector<float> images(static_cast<std::size_t>(b.images_n * b.height * b.width * 3), -9.0f);
  kernels::host::preprocess({.images = b.images_n,
                                .height = b.height,
                                .width = b.width,
                                .antialias = s.antialias,
                                .bgr = s.channels == "bgr"},
      {b.raw.bytes.data(), b.raw.offset.data(), b.raw.size.data(), b.image_size.data(), b.flipped.data()},
      values[0].data(), images.data());
  return images;
}

// Batches of one epoch or evaluation, with `transform` as given.
std::vector<HostBatch> take(const ShardSet& set, DataSettings s, const char* transform, bool training) {
  s.transform = transform;
  const OrderSettings how{.seed = 7, .global_batch = 4};
  const std::shared_ptr<const BatchOrder> order =
      training ? std::shared_ptr<const BatchOrder>(std::make_shared<TrainOrder>(set, s, how))
               : std::make_shared<EvalOrder>(set, s, how);
  Loader loader(set, s, order, {.targets = {.any = training}});
  std::vector<HostBatch> out;
  for (int i = 0; i < 5; ++i)
    if (const HostBatch* b = loader.next()) out.push_back(*b);
  return out;
}

void expect_same_pixels(const ShardSet& set, const DataSettings& s) {
  for (const bool training : {true, false}) {
    const std::vector<HostBatch> host = take(set, s, "host", training), device = take(set, s, "device", training);
    ASSERT_EQ(host.size(), device.size());
    int flipped = 0, black = 0;
    for (std::size_t i = 0; i < host.size(); ++i) {
      EXPECT_TRUE(device[i].images.empty() && host[i].raw.bytes.empty());
      EXPECT_EQ(host[i].image_size, device[i].image_size);
      EXPECT_EQ(host[i].gt_box, device[i].gt_box);
      const std::vector<float> images = placed(device[i], s);
      ASSERT_EQ(images.size(), host[i].images.size());
      EXPECT_EQ(std::memcmp(images.data(), host[i].images.data(), images.size() * sizeof(float)), 0) << "batch " << i;
      for (const std::uint8_t f : device[i].flipped) flipped += f;
      for (const std::int64_t id : device[i].image_id) black += id < 0;
    }
    if (training) EXPECT_GT(flipped, 0);
    else EXPECT_EQ(black, 2);  // 18 images in batches of 4
  }
}

TEST(RawImages, PreprocessedByReference_HaveWorkersBits) {
  const TinySet tiny(18);
  const ShardSet set(tiny.shards(), "train");
  for (const std::int64_t side : {48, 64, 31, 100})
    for (const bool antialias : {false, true})
      for (const char* channels : {"rgb", "bgr"}) {
        DataSettings s = tiny_settings(side);
        s.antialias = antialias, s.channels = channels, s.padding = "batch", s.pad_multiple = 16;
        SCOPED_TRACE(testing::Message() << side << " pixels, antialias " << antialias << ", " << channels);
        expect_same_pixels(set, s);
      }
}

// Decoded at a fraction, so that there are fewer bytes than the index says.
TEST(RawImages, OfScaledDecodingToo) {
  const TinySet tiny(18);
  const ShardSet set(tiny.shards(), "train");
  DataSettings s = tiny_settings(15);
  s.scaled_decode = true;
  expect_same_pixels(set, s);
}

}  // namespace
}  // namespace ttt::data
