// pack_coco: a folder of COCO images and an instances JSON into shards.
#include <set>
#include <thread>

#include "app/progress.h"
#include "app/tool.h"
#include "data/manifest.h"
#include "data/pack.h"
#include "result/provenance.h"

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
  app.add_flag("--quiet", quiet, "no progress");
  return ttt::run_tool(app, argc, argv, [&](const ttt::Start& start) -> ttt::harness::Answer {
    settings.packer = "pack_coco " + ttt::result::version_text();
    ttt::harness::StatusLine line({.enabled = !quiet});
    settings.progress = [&](std::int64_t done, std::int64_t all) {
      line.show(std::to_string(done) + " of " + std::to_string(all) + " images");
    };
    start(settings.annotations + " as split '" + settings.split + "', result " + settings.out);
    const ttt::data::PackResult r = ttt::data::pack(settings);
    line.finish();
    std::set<std::string> splits;
    for (const ttt::data::ManifestEntry& e : ttt::data::read_manifest(settings.out)) splits.insert(e.split);
    char text[200];
    std::snprintf(text, sizeof text,
        "%lld images (%lld left out), %lld annotations (%lld clipped, %lld skipped), %.1f MB in %lld shards",
        static_cast<long long>(r.images), static_cast<long long>(r.images_left_out),
        static_cast<long long>(r.annotations), static_cast<long long>(r.annotations_clipped),
        static_cast<long long>(r.annotations_skipped), static_cast<double>(r.bytes) / 1e6,
        static_cast<long long>(r.shards));
    return {.sentence = text,
        .figures = {{"images", static_cast<double>(r.images), "images"},
            {"annotations", static_cast<double>(r.annotations), "annotations"},
            {"shards", static_cast<double>(r.shards), "files"}},
        .files = {settings.out},
        .next = splits.contains("train") && splits.contains("val")
                    ? ttt::harness::beside(argv[0], "ttt_maskrcnn") + " --data " + settings.out
                    : ""};
  });
}
