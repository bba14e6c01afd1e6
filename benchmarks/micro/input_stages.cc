// links: ttt_data benchmark::benchmark
// The stages of the input path, one thread, one image each: read, checksum, decode, resize, targets, collate.
//
// The image is a texture of 480 x 640 pixels drawn here (no data set needed), as JPEG of quality 90 in 4:4:4, as COCO's
// files are; the target is COCO's usual 800 x 1066.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "core/rng.h"
#include "data/collate.h"
#include "data/crc32c.h"
#include "data/shard_writer.h"

namespace ttt::data {
namespace {

// Smooth noise of several octaves: compresses like a photograph (about 1.1 bits per byte at this quality).
RgbImage texture(std::int32_t height, std::int32_t width) {
  RgbImage image{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height) * width * 3)};
  const auto lattice = [](std::int64_t octave, std::int64_t c, std::int64_t y, std::int64_t x) {
    return unit_double(random_bits(1, Purpose::kTest, static_cast<std::uint64_t>(octave * 3 + c), static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(x)));
  };
  for (std::int32_t y = 0; y < height; ++y)
    for (std::int32_t x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        double value = 0;
        for (int octave = 0; octave < 6; ++octave) {
          const double step = 64 >> octave, v = y / step, u = x / step;
          const auto i = static_cast<std::int64_t>(v), j = static_cast<std::int64_t>(u);
          const double a = v - static_cast<double>(i), b = u - static_cast<double>(j);
          value += step / 127 * ((lattice(octave, c, i, j) * (1 - b) + lattice(octave, c, i, j + 1) * b) * (1 - a) +
                                 (lattice(octave, c, i + 1, j) * (1 - b) + lattice(octave, c, i + 1, j + 1) * b) * a);
        }
        image.pixels[(static_cast<std::size_t>(y) * width + x) * 3 + c] = static_cast<std::uint8_t>(255 * value);
      }
  return image;
}

// One image with eight objects as a shard in a temporary folder.
class Fixture {
 public:
  Fixture() : image(texture(480, 640)), jpeg(encode_jpeg(image, 90)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ttt-micro-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::vector<coco::Annotation> annotations(8);
    std::vector<const coco::Annotation*> pointers;
    for (std::size_t i = 0; i < annotations.size(); ++i) {
      coco::Annotation& a = annotations[i];
      const double x = 60.0 * static_cast<double>(i), y = 40.0 * static_cast<double>(i);
      a.id = static_cast<std::int64_t>(i) + 1, a.image_id = 1, a.category_id = 1, a.bbox = {x, y, 120, 160}, a.area = 9600;
      a.segmentation = std::vector<coco::Polygon>{{x, y, x + 120, y + 20, x + 100, y + 90, x + 120, y + 160, x + 40, y + 130, x + 10.5, y + 70.25}};
      pointers.push_back(&a);
    }
    ShardIndex index;
    index.category_id = {1}, index.category_name = {"thing"};
    append_image(index, {.id = 1, .height = 480, .width = 640, .file_name = ""}, pointers);
    index.offset = {0}, index.length = {static_cast<std::uint32_t>(jpeg.size())}, index.crc32c = {crc32c(jpeg.data(), jpeg.size())};
    ShardWriter writer(folder_ + "/train-00000-of-00001.h5", jpeg.size());
    writer.put(0, jpeg);
    writer.finish(index, {{"split", "train"}, {"pack_id", "x"}, {"source_sha256", ""}}, {});
    set = std::make_unique<ShardSet>(folder_, "train");
  }
  ~Fixture() { std::filesystem::remove_all(folder_); }
  RgbImage image;
  std::vector<std::uint8_t> jpeg;
  std::unique_ptr<ShardSet> set;

 private:
  std::string folder_;
};

// Made at the first use and destroyed at exit, as Google Benchmark's free functions need.
const Fixture& fixture() {
  static const Fixture made;
  return made;
}

void Checksum(benchmark::State& state) {
  const auto& jpeg = fixture().jpeg;
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(jpeg.data(), jpeg.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(jpeg.size()));
}
BENCHMARK(Checksum);

void ChecksumPortable(benchmark::State& state) {
  const auto& jpeg = fixture().jpeg;
  for (auto _ : state) benchmark::DoNotOptimize(crc32c_portable(jpeg.data(), jpeg.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(jpeg.size()));
}
BENCHMARK(ChecksumPortable);

// From the page cache, checksum included. Argument: 0 pread, 1 through HDF5.
void Read(benchmark::State& state) {
  const ShardSet& made = *fixture().set;
  const ShardSet set(made.folder(), "train", state.range(0) ? ShardFile::Path::kHdf5 : ShardFile::Path::kPread);
  std::vector<std::uint8_t> bytes;
  for (auto _ : state) benchmark::DoNotOptimize(set.read(0, bytes));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(fixture().jpeg.size()));
}
BENCHMARK(Read)->ArgName("hdf5")->Arg(0)->Arg(1);

void Decode(benchmark::State& state) {
  JpegDecoder decoder;
  RgbImage image;
  for (auto _ : state) decoder.decode(fixture().jpeg, image, static_cast<int>(state.range(0)));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(fixture().jpeg.size()));
}
BENCHMARK(Decode)->ArgName("shrink")->Arg(1)->Arg(2)->Arg(4)->Arg(8);

// Short side 800 enlarges, 480 only normalises, 240 shrinks.
void Resize(benchmark::State& state) {
  DataSettings s;
  s.short_side = state.range(0), s.long_side = 4 * state.range(0);
  s.antialias = state.range(1) != 0;
  const Size out = resized_size(s, {480, 640});
  std::vector<float> pixels(static_cast<std::size_t>(out.height) * out.width * 3);
  ImageTransform transform(s);
  for (auto _ : state) {
    transform.run(fixture().image, {.out = out, .flip = false, .pixels = pixels.data(), .row_stride = out.width * 3});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(pixels.size() * sizeof(float)));
}
BENCHMARK(Resize)->ArgNames({"short", "antialias"})->Args({800, 0})->Args({480, 0})->Args({240, 0})->Args({240, 1});

void Targets(benchmark::State& state) {
  const ShardSet& set = *fixture().set;
  ImageTargets targets;
  for (auto _ : state) {
    make_targets(set.shard_of(0).index(), 0, {.in = {480, 640}, .out = {800, 1066}, .flip = true}, targets);
    benchmark::DoNotOptimize(targets.bitmap_bytes.data());
  }
}
BENCHMARK(Targets);

// A batch of four, everything: what one worker does for it.
void Batch(benchmark::State& state) {
  DataSettings s;
  s.padding = "batch", s.pad_multiple = 1;
  BatchBuilder builder(*fixture().set, s, 4, 8, true);
  ImageWorker worker(s);
  for (auto _ : state) {
    builder.begin({.samples = {{0, false}, {0, true}, {0, false}, {0, true}}});
    StageSeconds spent;
    for (std::int64_t k = 0; k < 4; ++k) spent = builder.fill(k, worker);
    builder.finish(spent);
  }
  state.SetItemsProcessed(state.iterations() * 4);
}
BENCHMARK(Batch)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ttt::data
