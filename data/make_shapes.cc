// make_shapes: a COCO-format data set of drawn shapes, for runs without data and for tests.
#include "app/tool.h"
#include "data/shapes.h"

int main(int argc, char** argv) {
  CLI::App app("Draws a data set of shapes: OUT/train, OUT/val, OUT/instances_train.json, OUT/instances_val.json.",
      "make_shapes");
  ttt::data::ShapesSettings settings;
  std::string out;
  app.add_option("--out", out, "folder; made where missing")->required();
  app.add_option("--train", settings.train, "training images")->capture_default_str();
  app.add_option("--val", settings.val, "held-out images")->capture_default_str();
  app.add_option("--size", settings.size, "longer side of the images [pixel]")->capture_default_str();
  app.add_option("--aspects", settings.aspects, "square, or mixed: half of the images 4:3, half 3:4")
      ->capture_default_str()
      ->check(CLI::IsMember({"square", "mixed"}));
  app.add_option("--seed", settings.seed, "the same seed gives the same bytes")->capture_default_str();
  app.add_option("--classes", settings.classes, "kinds of shapes, 1 to 10")->capture_default_str();
  app.add_option("--threads", settings.threads, "0: all cores")->capture_default_str();
  app.add_flag("--overwrite", settings.overwrite, "replace a data set that is already in the folder");
  return ttt::run_tool(app, argc, argv, [&](const ttt::Start& start) -> ttt::harness::Answer {
    start("seed " + std::to_string(settings.seed) + ", result " + out);
    ttt::data::make_shapes(settings, out);
    const auto pack = [&](const std::string& split) {
      return ttt::harness::beside(argv[0], "pack_coco") + " --images " + out + "/" + split + " --annotations " + out +
             "/instances_" + split + ".json --split " + split + " --out shards";
    };
    return {.sentence = ttt::result::grouped_digits(settings.train) + " + " +
                        ttt::result::grouped_digits(settings.val) + " images, " + std::to_string(settings.classes) +
                        " kinds of shapes",
        .figures = {{"images", static_cast<double>(settings.train + settings.val), "images"}},
        .files = {out},
        .next = pack("train") + " && " + pack("val")};
  });
}
