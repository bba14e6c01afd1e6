#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "core/error.h"
#include "core/rng.h"
#include "core/sha256.h"
#include "core/temp_folder.h"
#include "core/whole_file.h"
#include "data/manifest.h"
#include "data/shapes_outline.h"
#include "data/shard_set.h"
#include "tests/data/tiny_set.h"
#include "tests/support/message_of.h"

namespace ttt::data {
namespace {

namespace fs = std::filesystem;

// Files of a folder tree with their contents.
std::map<std::string, std::string> tree(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) out[fs::relative(entry.path(), folder)] = test::read_text(entry.path());
  return out;
}

class Packing : public testing::Test {
 protected:
  Packing() {
    make_shapes({.train = 8, .val = 1, .size = 64, .threads = 1}, folder_.path());
    settings_ = {.images = folder_ / "train",
        .annotations = folder_ / "instances_train.json",
        .out = folder_ / "shards",
        .split = "train",
        .shard_bytes = 12 << 10,
        .threads = 2,
        .packer = "test"};
  }
  // Packing fails with this in its message and leaves nothing.
  template <class E> void fails(const std::string& words) {
    const std::string message = message_of<E>([&] { pack(settings_); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
    if (fs::exists(settings_.out)) { EXPECT_TRUE(tree(settings_.out).empty()); }
  }
  void edit(const std::string& from, const std::string& to) {
    std::string text = test::read_text(settings_.annotations);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    test::write_text(settings_.annotations, text.replace(at, from.size(), to));
  }
  TempFolder folder_;
  PackSettings settings_;
};

TEST_F(Packing, MissingOrCorruptImage_IsNamed) {
  const std::string image = folder_ / "train" / "000000000003.jpg", whole = test::read_text(image);
  fs::remove(image);
  fails<UsageError>("000000000003.jpg of image 3 is missing");
  test::write_text(image, whole.substr(0, whole.size() / 2));
  fails<DataError>("000000000003.jpg of image 3 is not a whole JPEG");
  test::write_text(image, "no JPEG");
  fails<DataError>("000000000003.jpg of image 3 is not a whole JPEG");
  settings_.shard_bytes = 1;  // an empty image would be a shard of nothing
  test::write_text(image, "");
  fails<DataError>("000000000003.jpg of image 3 is not a whole JPEG: it is empty");
  const std::vector<std::uint8_t> narrow = encode_jpeg({64, 60, std::vector<std::uint8_t>(64 * 60 * 3)}, 90);
  test::write_text(image, {narrow.begin(), narrow.end()});
  fails<DataError>("has 64 x 60 pixels where the annotations say 64 x 64");
}

TEST_F(Packing, FileNameOutsideFolder_IsRefused) {
  fs::create_directory(folder_ / "private");
  const fs::path image = folder_ / "train/000000000003.jpg", away = folder_ / "private/3.jpg";
  fs::rename(image, away);
  fs::create_symlink(away, image);
  std::string name = "\"file_name\": \"000000000003.jpg\"";
  for (const std::string& next :
      {name, std::string("\"file_name\": \"../private/3.jpg\""), "\"file_name\": \"" + away.string() + "\""}) {
    edit(name, next), name = next;
    settings_.follow_outside = false;
    fails<DataError>("of image 3 leads out of " + settings_.images + ": correct ");
    settings_.follow_outside = true;
    EXPECT_EQ(pack(settings_).images, 8);
    fs::remove_all(settings_.out);
  }
  edit(name, "\"file_name\": \"../train/./000000000003.jpg\"");
  fs::remove(image);
  fs::rename(away, image);
  settings_.follow_outside = false;
  EXPECT_EQ(pack(settings_).images, 8);
}

TEST_F(Packing, NothingToPack_IsSaid) {
  test::write_text(settings_.annotations, R"({"images": [], "annotations": [], "categories": []})");
  fails<DataError>("lists no images: nothing to pack");
  fs::remove(settings_.annotations);
  ASSERT_EQ(::mkfifo(settings_.annotations.c_str(), 0600), 0);
  fails<UsageError>("is no regular file");
}

TEST_F(Packing, OutsideImage_NamedClippedOrSkipped) {
  const std::int64_t annotations = pack(settings_).annotations;
  fs::remove_all(settings_.out);
  edit("\"bbox\": [", "\"bbox\": [60, 0, 20, 30], \"was\": [");
  fails<DataError>("Annotation 17 leaves image 1 (64 x 64 pixels)");
  settings_.outside = "skip";
  const PackResult skipped = pack(settings_);
  EXPECT_EQ(skipped.annotations_skipped, 1);
  EXPECT_EQ(skipped.annotations, annotations - 1);
  settings_.outside = "clip", settings_.overwrite = true;
  const PackResult clipped = pack(settings_);
  EXPECT_EQ(clipped.annotations_clipped, 1);
  EXPECT_EQ(clipped.annotations, annotations);
  EXPECT_EQ(ShardSet(settings_.out, "train").ground_truth().annotations[0].bbox, (std::array<double, 4>{60, 0, 4, 30}));
}

TEST_F(Packing, JudgesBoxesPolygonsAndMasks) {
  const coco::Image image{.id = 9, .height = 50, .width = 100, .file_name = ""};
  coco::Annotation a{.id = 4, .image_id = 9, .category_id = 1, .bbox = {10, 10, 20, 20}, .area = 400};
  const auto judged = [&](const char* outside) { return judge_annotations(image, {&a}, outside); };
  EXPECT_EQ(judged("error").kept.size(), 1u);
  // a pixel beyond the border is an annotator's rounding
  a.segmentation = std::vector<coco::Polygon>{{10, 10, 101, 10, 10, 51}};
  EXPECT_EQ(judged("error").kept.size(), 1u);
  a.segmentation = std::vector<coco::Polygon>{{10, 10, 102, 10, 10, 30}};
  EXPECT_THROW(judged("error"), DataError);
  EXPECT_EQ(std::get<1>(judged("clip").kept[0].segmentation)[0][2], 100);
  a.segmentation = coco::Rle{50, 100, {5000}};
  EXPECT_EQ(judged("error").kept.size(), 1u);
  a.segmentation = coco::Rle{50, 100, {4999}};
  EXPECT_THROW(judged("clip"), DataError);
  a.segmentation = coco::Rle{100, 50, {5000}};
  EXPECT_THROW(judged("skip"), DataError);
  a.segmentation = std::monostate{};
  a.bbox = {10, 10, -1, 5};
  EXPECT_THROW(judged("clip"), DataError);
  a.bbox = {10, 10, std::nan(""), 5};
  EXPECT_THROW(judged("clip"), DataError);
  a.bbox = {300, 10, 5, 5};
  EXPECT_EQ(judged("clip").skipped, 1);  // nothing is left of it
}

TEST_F(Packing, UnknownIdsOrDuplicates_AreRefused) {
  edit("\"category_id\": ", "\"category_id\": 77, \"was\": ");
  fails<DataError>("names category 77");
  edit("\"category_id\": 77, \"was\": ", "\"category_id\": ");
  edit("\"image_id\": 1,", "\"image_id\": 555,");
  fails<DataError>("names image 555");
  edit("\"image_id\": 555,", "\"image_id\": 1,");
  edit("{\"id\": 2, \"file_name\"", "{\"id\": 1, \"file_name\"");
  fails<DataError>("Image 1 stands twice");
  edit("{\"id\": 1, \"file_name\": \"000000000002", "{\"id\": -2, \"file_name\": \"000000000002");
  fails<DataError>("has a negative id");
  edit("{\"id\": -2, \"file_name\"", "{\"id\": 2, \"file_name\"");
  const auto fails_with = [&](const std::string& from, const std::string& to, const std::string& words) {
    edit(from, to);
    fails<DataError>(words);
    edit(to, from);
  };
  fails_with("\"id\": 2, \"name\"", "\"id\": 1, \"name\"", "Category 1 stands twice");
  fails_with("\"id\": 33, \"image_id\"", "\"id\": 17, \"image_id\"", "Annotation 17 stands twice");
  fails_with(
      "\"file_name\": \"0", "\"file_name\": \"\\u0000", "has the name '\\x0000000000001.jpg' with a control character");
  fails_with("\"name\": \"", "\"name\": \"\\n", "with a control character");
  fails_with("\"area\": ", "\"area\": -", "has an area that no image can have");
  fails_with("\"area\": ", "\"area\": 1e308, \"was\": ", "has an area that no image can have");
  fails_with("{", "\xef\xbb\xbf{", "begins with a byte-order mark");
  settings_.split = "a/b";
  fails<UsageError>("split's name 'a/b'");
  settings_.split = "train";
  settings_.images = folder_ / "nowhere";
  fails<UsageError>("no image folder");
}

TEST_F(Packing, NeverMixesTwoPackings) {
  pack(settings_);
  const auto before = tree(settings_.out);
  EXPECT_NE(message_of<UsageError>([&] { pack(settings_); }).find("already has shards"), std::string::npos);
  EXPECT_EQ(tree(settings_.out), before);
  settings_.overwrite = true, settings_.shard_bytes = 1 << 30;
  EXPECT_EQ(pack(settings_).shards, 1);
  EXPECT_EQ(find_shards(settings_.out, "train").size(), 1u);
}

TEST_F(Packing, ImageWithoutBox_IsLeftOut) {
  settings_.filter_empty = true;
  EXPECT_EQ(pack(settings_).images_left_out, 0);
  fs::remove_all(settings_.out);
  std::string text = test::read_text(settings_.annotations);
  for (std::size_t at = 0; (at = text.find("\"image_id\": 2,", at)) != std::string::npos;)
    text.replace(at, 14, "\"image_id\": 1,");
  test::write_text(settings_.annotations, text);
  const PackResult filtered = pack(settings_);
  EXPECT_EQ(filtered.images_left_out, 1);
  EXPECT_EQ(filtered.images, 7);
}

// A limit on the size of files is what a full disk looks like, without root: in a child, since it cannot be undone.
TEST_F(Packing, FullDisk_LeavesNothing) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 6 << 10, .rlim_max = 6 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      pack(settings_);
    } catch (const Error& e) {
      const std::string message = e.what();
      ::_exit(message.find("free space") != std::string::npos && tree(settings_.out).empty() ? 0 : 3);
    } catch (...) { ::_exit(4); }
    ::_exit(5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Shapes, ExistingSet_IsKeptUnlessOverwritten) {
  TempFolder folder;
  make_shapes({.train = 2, .val = 1, .size = 64, .threads = 1}, folder.path());
  const std::string json = folder.path() / "instances_train.json", before = read_whole_file(json);
  EXPECT_NE(test::message_of<UsageError>([&] {
    make_shapes({.train = 3, .val = 1, .size = 64, .threads = 1}, folder.path());
  }).find("--overwrite"),
      std::string::npos);
  EXPECT_EQ(read_whole_file(json), before);
  make_shapes({.train = 3, .val = 1, .size = 64, .threads = 1, .overwrite = true}, folder.path());
  EXPECT_NE(read_whole_file(json), before);
}

TEST(Shapes, AnyThreads_SameBytes) {
  const TempFolder one, three, other;
  make_shapes({.train = 12, .val = 4, .size = 96, .seed = 3, .threads = 1}, one.path());
  make_shapes({.train = 12, .val = 4, .size = 96, .seed = 3, .threads = 3}, three.path());
  make_shapes({.train = 12, .val = 4, .size = 96, .seed = 4, .threads = 2}, other.path());
  EXPECT_EQ(tree(one.path()), tree(three.path()));
  const auto a = tree(one.path()), b = tree(other.path());
  for (const auto& [name, content] : a) EXPECT_NE(content, b.at(name)) << name;
}

// What the default set promises: six classes, all sizes, polygons and run lengths, crowds, occlusion, exact masks.
TEST(Shapes, ContainsEverything) {
  const ShapesSettings settings;
  std::map<std::string, int> seen;
  for (std::int64_t i = 0; i < 400; ++i) {
    const ShapesImage drawn = draw_shapes(settings, 0, i);
    int objects = 0;
    std::vector<std::uint8_t> covered(128 * 128), mask(128 * 128);
    for (const coco::Annotation& a : drawn.annotations) {
      const coco::Rle rle = coco::mask_of(a, drawn.info);
      EXPECT_EQ(static_cast<double>(coco::area(rle)), a.area);
      coco::decode(rle, mask.data());
      for (std::size_t p = 0; p < mask.size(); ++p) {
        EXPECT_FALSE(mask[p] && covered[p]);  // visible parts do not overlap
        covered[p] |= mask[p];
      }
      EXPECT_GE(std::min(a.bbox[2], a.bbox[3]), 8);
      objects += !a.iscrowd;
      ++seen["class " + std::to_string(a.category_id)];
      ++seen[a.iscrowd ? "crowd" : a.segmentation.index() == 1 ? "polygon" : "rle"];
      ++seen[a.area < 1024 ? "small" : a.area <= 9216 ? "medium" : "large"];
    }
    EXPECT_TRUE(objects >= 1 && objects <= 6);
  }
  EXPECT_EQ(seen["class 7"], 0);
  for (int k = 1; k <= 6; ++k) EXPECT_GT(seen["class " + std::to_string(k)], 100);
  EXPECT_GT(seen["polygon"], 2 * seen["rle"]);
  for (const char* kind : {"rle", "small", "medium"}) EXPECT_GT(seen[kind], 100) << kind;
  EXPECT_GT(seen["large"], 20);
  EXPECT_TRUE(seen["crowd"] >= 1 && seen["crowd"] <= 24);  // 2 % of 400: 8, six standard deviations above
}

TEST(Outline, RasterisesToTheSameBitmap) {
  Stream draw(random_bits(1, Purpose::kTest, 0));
  int polygons = 0, holes = 0;
  for (int round = 0; round < 2000; ++round) {
    Bitmap b{static_cast<std::int32_t>(1 + draw.below(9)), static_cast<std::int32_t>(1 + draw.below(9)), {}};
    const double density = draw.uniform();
    for (std::int32_t i = 0; i < b.height * b.width; ++i) b.bits.push_back(draw.uniform() < density);
    const auto found = outline(b);
    // A hole: background that cannot be reached from outside over 8-connected background.
    std::vector<std::uint8_t> outside(static_cast<std::size_t>((b.height + 2) * (b.width + 2)), 0);
    std::vector<std::pair<int, int>> stack = {{-1, -1}};
    while (!stack.empty()) {
      const auto [y, x] = stack.back();
      stack.pop_back();
      if (y < -1 || x < -1 || y > b.height || x > b.width || b.at(y, x) || outside[(y + 1) * (b.width + 2) + x + 1]++)
        continue;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) stack.push_back({y + dy, x + dx});
    }
    bool hole = false;
    for (int y = 0; y < b.height; ++y)
      for (int x = 0; x < b.width; ++x) hole |= !b.at(y, x) && !outside[(y + 1) * (b.width + 2) + x + 1];
    ASSERT_EQ(found.has_value(), !hole);
    if (!found) {
      ++holes;
      continue;
    }
    ++polygons;
    if (found->empty()) continue;
    std::vector<std::uint8_t> back(b.bits.size());
    coco::decode(coco::rasterize(*found, static_cast<std::uint32_t>(b.height), static_cast<std::uint32_t>(b.width)),
        back.data());
    ASSERT_EQ(back, b.bits);
  }
  EXPECT_GT(polygons, 500);
  EXPECT_GT(holes, 200);
}

const ShapesSettings kSmall{.train = 10, .val = 3, .size = 64, .threads = 1};

TEST(DefaultDataset, ManyProcesses_GetOneSet) {
  const TempFolder cache;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      try {
        const std::string folder = default_dataset(cache.path(), kSmall);
        ::_exit(ShardSet(folder, "train").size() == 10 && ShardSet(folder, "val").size() == 3 ? 0 : 1);
      } catch (...) { ::_exit(2); }
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(cache.path()), {}), 2);  // the set and its lock
  ShapesSettings other = kSmall;
  other.seed = 1;
  EXPECT_NE(default_dataset(cache.path(), other), default_dataset(cache.path(), kSmall));
}

TEST(DefaultDataset, KilledAttempt_IsRemoved) {
  const TempFolder cache;
  ShapesSettings big = kSmall;
  big.train = 3000;
  const pid_t child = ::fork();
  if (child == 0) {
    default_dataset(cache.path(), big);
    ::_exit(0);
  }
  // Kill it in the middle of its work: when the temporary folder has images.
  const auto half_done = [&] {
    for (const auto& entry : fs::directory_iterator(cache.path()))
      if (entry.path().extension() == ".tmp" && fs::exists(entry.path() / "train") &&
          !fs::is_empty(entry.path() / "train"))
        return true;
    return false;
  };
  while (!half_done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(half_done());
  big.threads = 0;
  const std::string folder = default_dataset(cache.path(), big);
  EXPECT_EQ(ShardSet(folder, "train").size(), 3000);
  EXPECT_FALSE(half_done());
}

TEST_F(Packing, Manifest_ReadsBack) {
  pack(settings_);
  const std::vector<ManifestEntry> entries = read_manifest(settings_.out);
  ASSERT_EQ(entries.size(), find_shards(settings_.out, "train").size());
  for (const ManifestEntry& e : entries) {
    EXPECT_EQ(e.split, "train");
    EXPECT_EQ(e.bytes, static_cast<std::int64_t>(fs::file_size(settings_.out + "/" + e.file)));
    EXPECT_EQ(e.sha256, sha256_of_file(settings_.out + "/" + e.file));
  }
  const std::string whole = test::read_text(settings_.out + "/shards.json");
  const auto becomes = [&](const std::string& text) {
    std::ofstream(settings_.out + "/shards.json", std::ios::trunc) << text;
    return message_of<DataError>([&] { read_manifest(settings_.out); });
  };
  std::string edited = whole;
  edited.replace(edited.find("sha256") + 12, 1, "G");
  for (const std::string& text :
      {edited, whole.substr(0, whole.size() - 3), whole.substr(0, whole.find("shards\": [") + 11), std::string()})
    EXPECT_NE(becomes(text).find("is not as pack_coco wrote it"), std::string::npos) << text;
  fs::remove(settings_.out + "/shards.json");
  EXPECT_NE(message_of<UsageError>([&] { read_manifest(settings_.out); }).find("has no manifest"), std::string::npos);
}

}  // namespace
}  // namespace ttt::data
