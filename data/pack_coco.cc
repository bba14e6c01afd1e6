// pack_coco: a folder of COCO images and an instances JSON into shards.
#include <unistd.h>

#include <thread>

#include "app/tool.h"
#include "core/clock.h"
#include "data/pack.h"
#include "result/provenance.h"

namespace {

// Rewrites its line in a terminal; elsewhere a line every ten seconds.
class PackProgress {
 public:
  void operator()(std::int64_t done, std::int64_t all) {
    const double now = ttt::now_s();
    if (done < all && now - last_s_ < (terminal_ ? 0.2 : 10.0)) return;
    last_s_ = now;
    std::fprintf(stderr, "%s%lld of %lld images%s", terminal_ ? "\r" : "", static_cast<long long>(done),
        static_cast<long long>(all), terminal_ && done < all ? "" : "\n");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  double last_s_ = ttt::now_s();
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Packs COCO images and annotations into HDF5 shards.", "pack_coco");
  ttt::data::PackSettings settings;
  settings.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool quiet = false;
  app.add_option("--images", settings.images, "folder of the JPEG files")->required();
  app.add_option("--annotations", settings.annotations, "instances JSON")->required();
  app.add_option("--out", settings.out, "folder of the shards; made where missing")->required();
  app.add_option("--split", settings.split, "name of the shards: train, val, ...")->required();
  app.add_flag("--filter-empty", settings.filter_empty,
      "leave out images without a box wider and higher than 1 pixel (MLPerf's training set)");
  app.add_option("--shard-bytes", settings.shard_bytes, "a shard holds about this many bytes of images")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--outside", settings.outside, "an annotation outside its image: error, clip or skip")
      ->check(CLI::IsMember({"error", "clip", "skip"}))
      ->capture_default_str();
  app.add_flag("--follow-outside", settings.follow_outside,
      "take images whose file_name or symbolic link leads out of --images");
  app.add_flag("--overwrite", settings.overwrite, "replace shards of the same split");
  app.add_option("--threads", settings.threads, "threads that check images")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quiet", quiet, "print errors only");
  return ttt::run_tool(app, argc, argv, [&] {
    settings.packer = "pack_coco " + ttt::result::version_text();
    if (!quiet) settings.progress = PackProgress();
    const ttt::data::PackResult r = ttt::data::pack(settings);
    if (quiet) return 0;
    std::printf(
        "%lld images (%lld left out), %lld annotations (%lld clipped, %lld skipped), %.1f MB in %lld shards of split "
        "'%s' in %s\n",
        static_cast<long long>(r.images), static_cast<long long>(r.images_left_out),
        static_cast<long long>(r.annotations), static_cast<long long>(r.annotations_clipped),
        static_cast<long long>(r.annotations_skipped), static_cast<double>(r.bytes) / 1e6,
        static_cast<long long>(r.shards), settings.split.c_str(), settings.out.c_str());
    return 0;
  });
}
