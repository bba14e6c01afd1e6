#include "data/loader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/temp_folder.h"
#include "data/shard_writer.h"
#include "tests/data/tiny_set.h"

namespace ttt::data {
namespace {

bool same(const HostBatch& a, const HostBatch& b) {
  return a.height == b.height && a.width == b.width && a.images == b.images && a.image_size == b.image_size &&
         a.original_size == b.original_size && a.image_id == b.image_id && a.flipped == b.flipped &&
         a.gt_box == b.gt_box && a.gt_label == b.gt_label && a.gt_count == b.gt_count &&
         a.masks.object_polygon == b.masks.object_polygon && a.masks.polygon_vertex == b.masks.polygon_vertex &&
         a.masks.vertices == b.masks.vertices && a.masks.bitmap_box == b.masks.bitmap_box &&
         a.masks.bitmap_offset == b.masks.bitmap_offset && a.masks.bitmap_bytes == b.masks.bitmap_bytes;
}

class LoaderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    tiny_ = new TinySet(22);
    set_ = new ShardSet(tiny_->shards(), "train");
  }
  static void TearDownTestSuite() {
    delete set_, set_ = nullptr;
    delete tiny_, tiny_ = nullptr;
  }
  static std::shared_ptr<const TrainOrder> order(const DataSettings& s, std::int64_t batch = 4) {
    return std::make_shared<TrainOrder>(*set_, s, OrderSettings{.seed = 7, .global_batch = batch});
  }
  static std::vector<HostBatch> take(const DataSettings& s, std::int64_t count, LoaderStart start = {}) {
    Loader loader(*set_, s, order(s), start);
    std::vector<HostBatch> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(*loader.next());
    return out;
  }
  static TinySet* tiny_;
  static ShardSet* set_;
};
TinySet* LoaderTest::tiny_ = nullptr;
ShardSet* LoaderTest::set_ = nullptr;

TEST_F(LoaderTest, WorkersAndPrefetchChangeNothing) {
  DataSettings s = tiny_settings(80);  // resized
  s.workers = 0;
  const std::vector<HostBatch> want = take(s, 12);
  for (const std::int64_t workers : {1, 2, 5})
    for (const std::int64_t prefetch : {1, 3}) {
      s.workers = workers, s.prefetch = prefetch;
      const std::vector<HostBatch> got = take(s, 12);
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(same(got[i], want[i])) << workers << " workers, batch " << i;
    }
}

// Batches of 4, then 6, then 2 images, 5 + 3 + 11 of 22 images: what their own runs have.
TEST_F(LoaderTest, BatchesByPhase_AnyWorkers) {
  DataSettings s = tiny_settings(80);
  for (const std::int64_t workers : {0, 1, 3}) {
    s.workers = workers;
    const auto phased = std::make_shared<TrainOrder>(
        *set_, s, OrderSettings{.seed = 7, .global_batch = 4, .phases = {{.global_batch = 4}, {1, 0, 6}, {2, 0, 2}}});
    Loader loader(*set_, s, phased);
    for (const auto& [epoch, batch] : std::map<std::int64_t, std::int64_t>{{0, 4}, {1, 6}, {2, 2}}) {
      const auto alone = order(s, batch);
      const std::int64_t steps = alone->epochs().steps_before(1);
      Loader wanted(*set_, s, alone, {.first_batch = epoch * steps});
      for (std::int64_t i = 0; i < steps; ++i) {
        const HostBatch &is = *loader.next(), &of_own_run = *wanted.next();
        EXPECT_EQ(is.images_n, batch);
        EXPECT_TRUE(same(is, of_own_run)) << workers << " workers, epoch " << epoch << ", batch " << i;
      }
    }
  }
}

TEST_F(LoaderTest, PausesChangeNothing) {
  DataSettings s = tiny_settings(80);
  s.workers = 0;
  const std::vector<HostBatch> want = take(s, 12);
  s.workers = 2, s.prefetch = 2;
  Loader loader(*set_, s, order(s));
  loader.pause(true);
  for (std::size_t i = 0; i < want.size(); ++i) {
    loader.pause(false);
    EXPECT_TRUE(same(*loader.next(), want[i])) << i;
    loader.pause(true);  // with images at hand and a ring that is not full
  }
}

TEST_F(LoaderTest, RecordsEveryImageAndEveryBatch) {
  DataSettings s = tiny_settings(80);
  s.prefetch = 2;
  for (const std::int64_t workers : {0, 3}) {
    s.workers = workers;
    trace::Recorder recorder(0, 6);
    recorder.before_step(0);
    take(s, 6, {.trace = &recorder});  // ends before the loader does: its threads have stopped
    std::map<std::int32_t, int> images, batches;
    std::int64_t waits = 0;
    EXPECT_EQ(recorder.lanes().size(), static_cast<std::size_t>(std::max<std::int64_t>(1, workers)));
    for (const trace::Lane* lane : recorder.lanes()) {
      EXPECT_EQ(lane->dropped(), 0);
      for (const trace::Span& span : lane->spans()) {
        if (span.event == trace::Event::kImage) ++images[span.number];
        if (span.event == trace::Event::kFinishBatch) ++batches[span.number];
        if (span.event == trace::Event::kWaitRoom) ++waits;
      }
    }
    for (std::int32_t b = 0; b < 6; ++b) {
      EXPECT_EQ(images[b], 4) << "batch " << b << ", " << workers << " workers";
      EXPECT_EQ(batches[b], 1);
    }
    if (workers == 0) { EXPECT_EQ(waits, 0); }
  }
}

// Nobody asks for the ring's batches, so workers fill it and wait: at the latest when they were given the time for it.
TEST_F(LoaderTest, RecordsThatWorkersWaitForRoom) {
  DataSettings s = tiny_settings(80);
  s.prefetch = 2, s.workers = 3;
  bool waited = false;
  for (int patience_ms = 1; !waited && patience_ms < 20000; patience_ms *= 2) {
    trace::Recorder recorder(0, 6);
    recorder.before_step(0);
    {
      Loader loader(*set_, s, order(s), {.trace = &recorder});
      std::this_thread::sleep_for(std::chrono::milliseconds(patience_ms));
    }
    for (const trace::Lane* lane : recorder.lanes())
      for (const trace::Span& span : lane->spans()) waited |= span.event == trace::Event::kWaitRoom;
  }
  EXPECT_TRUE(waited);
}

// MLPerf's clock must run before the first record is touched.
TEST_F(LoaderTest, Held_ReadsNothingBeforeNext) {
  DataSettings s = tiny_settings(80);
  s.workers = 0;
  const std::vector<HostBatch> want = take(s, 6);
  s.workers = 2, s.prefetch = 2;
  for (const bool hold : {false, true}) {
    trace::Recorder recorder(0, 6);
    recorder.before_step(0);
    Loader loader(*set_, s, order(s), {.trace = &recorder, .hold = hold});
    const auto recorded = [&] {
      std::size_t spans = 0;
      for (const trace::Lane* lane : recorder.lanes()) spans += lane->spans().size();
      return spans;
    };
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(hold ? 200 : 20000);
    while (recorded() == 0 && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(recorded() == 0, hold);
    for (const HostBatch& w : want) EXPECT_TRUE(same(*loader.next(), w));
    EXPECT_GT(recorded(), 0u);
  }
}

TEST_F(LoaderTest, ResumesInTheMiddle) {
  const DataSettings s = tiny_settings();
  const std::vector<HostBatch> all = take(s, 9), rest = take(s, 4, {.first_batch = 5});
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_TRUE(same(rest[i], all[5 + i]));
}

// In batch mode the padded size changes from batch to batch, in memory that is used again: zero outside every image.
TEST_F(LoaderTest, PaddingIsZeroInReusedMemory) {
  TinySet other(10, 96);
  const ShardSet set(other.shards(), "train");
  for (const char* padding : {"batch", "fixed"}) {
    DataSettings s = tiny_settings(96);
    s.padding = padding, s.pad_multiple = 56, s.workers = 2, s.prefetch = 1;
    Loader loader(set, s, std::make_shared<TrainOrder>(set, s, OrderSettings{.global_batch = 2}));
    for (int b = 0; b < 10; ++b) {
      const HostBatch& h = *loader.next();
      EXPECT_EQ(h.height, 112);
      for (std::int64_t n = 0; n < h.images_n; ++n)
        for (std::int64_t y = 0; y < h.height; ++y)
          for (std::int64_t x = 0; x < h.width; ++x)
            for (int c = 0; c < 3 && (y >= h.image_size[2 * n] || x >= h.image_size[2 * n + 1]); ++c)
              ASSERT_EQ(h.images[((n * h.height + y) * h.width + x) * 3 + c], 0.0f);
    }
  }
}

TEST_F(LoaderTest, WithoutBitmaps_AllElseIsThere) {
  const std::vector<HostBatch> with = take(tiny_settings(80), 6),
                               without = take(tiny_settings(80), 6, {.targets = {.bitmaps = false}});
  for (std::size_t b = 0; b < with.size(); ++b) {
    const HostBatch &h = with[b], &n = without[b];
    EXPECT_FALSE(h.masks.bitmap_bytes.empty());
    EXPECT_TRUE(n.masks.bitmap_bytes.empty());
    EXPECT_EQ(std::ranges::count(n.masks.bitmap_box, 0), std::ssize(h.masks.bitmap_box));
    EXPECT_EQ(n.masks.bitmap_offset.size(), h.masks.bitmap_offset.size());
    EXPECT_EQ(n.masks.object_polygon, h.masks.object_polygon);
    EXPECT_EQ(n.masks.vertices, h.masks.vertices);
    EXPECT_EQ(n.gt_box, h.gt_box);
    EXPECT_EQ(n.gt_count, h.gt_count);
    EXPECT_EQ(n.images, h.images);
  }
}

TEST_F(LoaderTest, Evaluation_EveryImageOnceWithoutTargets) {
  const DataSettings s = tiny_settings();
  std::multiset<std::int64_t> ids;
  int fillers = 0;
  for (int rank = 0; rank < 2; ++rank) {
    Loader loader(*set_, s,
        std::make_shared<EvalOrder>(*set_, s, OrderSettings{.global_batch = 8, .rank = rank, .ranks = 2}),
        {.targets = {.any = false}});
    int batches = 0;
    while (const HostBatch* h = loader.next()) {
      ++batches;
      for (std::int64_t n = 0; n < h->images_n; ++n) {
        EXPECT_EQ(h->gt_count[n], 0);
        EXPECT_FALSE(h->flipped[n]);
        if (h->image_id[n] >= 0) {
          ids.insert(h->image_id[n]);
          continue;
        }
        ++fillers;
        EXPECT_EQ(h->image_size[2 * n], h->height);
        const float* pixels = &h->images[static_cast<std::size_t>(n * h->height * h->width * 3)];
        for (std::int64_t i = 0; i < h->height * h->width * 3; ++i) ASSERT_EQ(pixels[i], 0.0f);
      }
    }
    EXPECT_EQ(batches, 3);
    EXPECT_EQ(loader.next(), nullptr);  // and stays at the end
  }
  EXPECT_EQ(ids.size(), 22u);
  EXPECT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()).size(), 22u);
  EXPECT_EQ(fillers, 2);
}

TEST_F(LoaderTest, StopsAtAnyMoment) {
  for (int delay_us = 0; delay_us < 6000; delay_us += 400) {
    DataSettings s = tiny_settings(256);
    s.workers = 3, s.prefetch = 1;
    Loader loader(*set_, s, order(s));
    if (delay_us % 800 == 0) loader.next();
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));  // later ones find the workers waiting for room
  }
}

TEST_F(LoaderTest, WaitsForTheConsumer) {
  DataSettings s = tiny_settings();
  s.workers = 2, s.prefetch = 2;
  Loader loader(*set_, s, order(s));
  const HostBatch* first = loader.next();
  const HostBatch copy = *first;
  // workers have filled the ring and may not touch this one
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(same(*first, copy));
  EXPECT_EQ(loader.position(), 1);
}

// A shard whose second record is no JPEG, although its checksum is right.
TEST_F(LoaderTest, CorruptJpeg_NamedAtItsBatch) {
  const TempFolder folder;
  const ShardFile& source = *set_->shards()[0];
  ShardIndex index = source.index();
  std::vector<std::uint8_t> bytes;
  const std::uint64_t total = index.offset.back() + index.length.back();
  {
    ShardWriter writer(folder / "train-00000-of-00001.h5", total);
    for (std::int64_t i = 0; i < index.images(); ++i) {
      source.read(i, bytes);
      bytes.resize(index.length[i]);
      // the second half is lost
      if (i == 1) std::fill(bytes.begin() + index.length[i] / 2, bytes.end(), std::uint8_t{0});
      index.crc32c[i] = crc32c(bytes.data(), bytes.size());
      writer.put(index.offset[i], bytes);
    }
    writer.finish(index, {{"split", "train"}, {"pack_id", "x"}, {"source_sha256", ""}}, {});
  }
  const ShardSet set(folder.path(), "train");
  const std::string name = set.describe(1);
  for (const std::int64_t workers : {0, 1, 4}) {
    DataSettings s = tiny_settings();
    s.workers = workers;
    Loader loader(set, s, std::make_shared<EvalOrder>(set, s, OrderSettings{.global_batch = 1}));
    EXPECT_NE(loader.next(), nullptr);
    for (int again = 0; again < 2; ++again) {
      const std::string message = message_of<DataError>([&] { loader.next(); });
      EXPECT_EQ(message.rfind(name + " is not a whole JPEG", 0), 0u) << message;
    }
  }
}

TEST_F(LoaderTest, ContradictionsAreRefusedWithTheRemedy) {
  const auto refused = [&](auto&& change, const std::string& words) {
    DataSettings s = tiny_settings();
    change(s);
    const std::string message = message_of<UsageError>([&] {
      Loader loader(*set_, s, order(s));
      loader.next();
    });
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  refused([](DataSettings& s) { s.gt_capacity = 1; }, "set gt_capacity to at least that, or 0");
  refused([](DataSettings& s) { s.padding = "two"; }, "group_by_aspect = true");
  refused([](DataSettings& s) { s.pad_height = 32; }, "raise pad_height");
  refused([](DataSettings& s) { s.mean = {0.5}; }, "three values");
  refused([](DataSettings& s) { s.long_side = 32; }, "raise data.long_side");
}

TEST_F(LoaderTest, Capacity_IsLargestCountRoundedUp) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < set_->size(); ++i) most = std::max(most, set_->objects(i));
  EXPECT_EQ(most, set_->max_objects());
  EXPECT_EQ(gt_capacity(*set_, tiny_settings()), 8);  // 1 to 6 objects
  DataSettings s = tiny_settings();
  s.gt_capacity = most;
  EXPECT_EQ(Loader(*set_, s, order(s)).next()->gt_capacity, most);
}

TEST(PaddedSize, ShapesOfTheThreeModes) {
  const TempFolder folder;
  ShardIndex index;
  index.category_id = {1}, index.category_name = {"thing"};
  const std::uint32_t sizes[3][2] = {{480, 640}, {640, 480}, {427, 640}};  // height, width
  for (const auto& size : sizes) {
    append_image(index,
        {.id = static_cast<std::int64_t>(index.images()) + 1, .height = size[0], .width = size[1], .file_name = ""},
        {});
    index.offset.push_back(0), index.length.push_back(0), index.crc32c.push_back(0);
  }
  ShardWriter(folder / "train-00000-of-00001.h5", 64)
      .finish(index, {{"split", "train"}, {"pack_id", "x"}, {"source_sha256", ""}}, {});
  const ShardSet set(folder.path(), "train");
  DataSettings s;  // 800, 1333
  EXPECT_EQ(padded_size(set, s, {{0}, {1}}), (Size{1344, 1344}));
  s.padding = "two";
  EXPECT_EQ(padded_size(set, s, {{0}, {2}}), (Size{800, 1344}));
  EXPECT_EQ(padded_size(set, s, {{1}}), (Size{1344, 800}));
  EXPECT_EQ(padded_size(set, s, {{0}, {1}}), (Size{1344, 1344}));
  s.padding = "batch";
  EXPECT_EQ(padded_size(set, s, {{0}}), (Size{800, 1088}));             // 800 x 1066
  EXPECT_EQ(padded_size(set, s, {{0}, {-1}, {2}}), (Size{800, 1216}));  // 800 x 1199
}

}  // namespace
}  // namespace ttt::data
