// input_pipeline: images per second of the whole input path, from shard to normalised, padded float batch, no model.
//
// Its figures are images_per_second over the measured time, and the workers' seconds by stage. The memory is touched
// and the page cache filled by `--warmup` batches before the clock starts.
#include <cmath>

#include "app/tool.h"
#include "core/clock.h"
#include "data/loader.h"

namespace {

struct Options {
  std::string folder, split = "train";
  double seconds = 10;
  std::int64_t batch = 8, warmup = 4;
  std::uint64_t seed = 1;
  bool targets = true, bitmaps = true;
};

ttt::harness::Answer measure(const Options& options, const ttt::data::DataSettings& settings, const ttt::Start& start) {
  const ttt::data::ShardSet images(options.folder, options.split,
      settings.read == "hdf5" ? ttt::data::ShardFile::Path::kHdf5 : ttt::data::ShardFile::Path::kPread);
  const auto order = std::make_shared<ttt::data::TrainOrder>(
      images, settings, ttt::data::OrderSettings{.seed = options.seed, .global_batch = options.batch});
  ttt::data::Loader loader(images, settings, order, {.targets = {.any = options.targets, .bitmaps = options.bitmaps}});
  start(ttt::result::grouped_digits(images.size()) + " images of " + options.folder + ", " +
        std::to_string(settings.workers) + " workers, batches of " + std::to_string(options.batch));
  for (std::int64_t i = 0; i < options.warmup; ++i) loader.next();
  std::int64_t batches = 0;
  double read_s = 0, decode_s = 0, transform_s = 0, elapsed_s = 0;
  const double start_s = ttt::now_s();
  while (elapsed_s < options.seconds) {
    const ttt::data::HostBatch& batch = *loader.next();
    read_s += batch.read_s, decode_s += batch.decode_s, transform_s += batch.transform_s;
    ++batches;
    elapsed_s = ttt::now_s() - start_s;
  }
  const double rate = static_cast<double>(batches * options.batch) / elapsed_s;
  return {.sentence = std::to_string(std::llround(rate)) + " images/s through the input path",
      .figures = {{"images_per_second", rate, "images/s"}, {"batches", static_cast<double>(batches), "batches"},
          {"worker_read", read_s, "s"}, {"worker_decode", decode_s, "s"}, {"worker_transform", transform_s, "s"}}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures the input path alone.", "input_pipeline");
  Options options;
  ttt::data::DataSettings settings;
  settings.workers = 2, settings.prefetch = 2, settings.padding = "batch", settings.pad_multiple = 1;
  app.add_option("--data", options.folder, "folder of shards")->required();
  app.add_option("--split", options.split)->capture_default_str();
  app.add_option("--seconds", options.seconds, "measured time")->capture_default_str();
  app.add_option("--batch", options.batch)->capture_default_str();
  app.add_option("--warmup", options.warmup, "batches before the clock starts")->capture_default_str();
  app.add_option("--workers", settings.workers)->capture_default_str();
  app.add_option("--prefetch", settings.prefetch)->capture_default_str();
  app.add_option("--short-side", settings.short_side)->capture_default_str();
  app.add_option("--long-side", settings.long_side)->capture_default_str();
  app.add_option("--padding", settings.padding, "batch, fixed or two")->capture_default_str();
  app.add_option("--read", settings.read, "pread or hdf5")->capture_default_str();
  app.add_option("--transform", settings.transform, "host, or device: the workers only decode")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  app.add_flag("--scaled-decode", settings.scaled_decode);
  app.add_flag("--targets,!--no-targets", options.targets, "boxes and masks too")->capture_default_str();
  app.add_flag("--bitmaps,!--no-bitmaps", options.bitmaps, "masks as bitmaps beside their polygons")
      ->capture_default_str();
  return ttt::run_tool(app, argc, argv, [&](const ttt::Start& start) { return measure(options, settings, start); });
}
