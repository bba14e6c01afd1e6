// coco_eval GT.json DT.json: COCO's average precision and recall, from files.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "app/tool.h"
#include "coco/dataset.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/sha256.h"
#include "core/whole_file.h"
#include "eval/coco/evaluate.h"
#include "eval/coco/oddities.h"
#include "eval/coco/results.h"
#include "settings/json.h"

namespace {

using namespace ttt::eval::coco;
using ttt::result::Json;

struct Arguments {
  std::string truth, detections, out;
  std::vector<std::string> types = {"bbox"};
  int threads = 0;
  std::string numpy = "2.3";
  bool hashes = false, strict = false;
};

constexpr const char* kFooter =
    "Equal to pycocotools 2.0.11 to the last bit. As there, DT.json's first entry decides: where it has a bbox, an\n"
    "object's size (small, medium, large) is that of the boxes, in segm too; where it has none, that of the masks.\n"
    "An empty DT.json is evaluated: recall 0, and AP 0 where there are objects.\n"
    "Ids given twice, unlisted images and categories and masks of a foreign size count as there, with a warning; "
    "--strict refuses them.\n"
    "-1 says that no object counts. Exit codes: 0 done, 2 arguments, 3 a file's content, 1 anything else.\n"
    "Example: coco_eval instances_val2017.json results.json --iou bbox,segm --out ap.json\n";

void declare(CLI::App& app, Arguments& a) {
  app.footer(kFooter);
  app.add_option("GT.json", a.truth, "Ground truth: COCO's instances format");
  app.add_option("DT.json", a.detections, "Detections: COCO's result format, a JSON list");
  app.add_option("--iou", a.types, "What is compared, separated by commas: bbox, segm")
      ->delimiter(',')
      ->check(CLI::IsMember({"bbox", "segm"}))
      ->type_name("TYPES")
      ->capture_default_str();
  app.add_option("--out", a.out, "Write bbox.stats and segm.stats, twelve numbers each, as JSON")->type_name("FILE");
  app.add_option("--threads", a.threads, "Threads; 0: one per core. The result is the same for any number")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--numpy", a.numpy, "Add means up as numpy from 2.3 on, or before it: the last digit differs")
      ->check(CLI::IsMember({"2.3", "before-2.3"}))
      ->type_name("RULE")
      ->capture_default_str();
  app.add_flag("--hashes", a.hashes, "Add the SHA-256 of the precision, recall and scores arrays to the JSON");
  app.add_flag("--strict", a.strict,
      "Refuse files with ids given twice, entries of unlisted images or categories, or masks of another size "
      "than their image");
}

// Of the doubles as they lie in memory, in C order.
std::string sha256(const std::vector<double>& values) {
  ttt::Sha256 hash;
  hash.update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
  return hash.hex();
}

Json to_json(const Evaluation& e, bool hashes) {
  Json json;
  json["stats"] = e.stats;
  if (hashes) {
    json["shape_TRKAM"] = {kThresholds, kRecalls, e.curves.categories, kAreas, kLimits};
    json["sha256"] = {{"precision", sha256(e.curves.precision)}, {"recall", sha256(e.curves.recall)},
        {"scores", sha256(e.curves.scores)}};
  }
  return json;
}

// A warning for each, or with --strict the refusal.
void report(const std::string& file, const std::vector<std::string>& found, bool strict) {
  std::string all;
  for (const std::string& text : found) {
    if (!strict) std::fprintf(stderr, "coco_eval: warning: %s: %s.\n", ttt::one_line(file).c_str(), text.c_str());
    all += (all.empty() ? "" : "; ") + text;
  }
  if (strict && !all.empty()) throw ttt::DataError(file + ": " + all + ". Correct the file, or leave --strict out.");
}

GroundTruth read_truth(const Arguments& a, bool masks, int threads) {
  const ttt::coco::Dataset dataset = ttt::coco::read_instances(a.truth);
  GroundTruth truth(dataset, {.masks = masks, .threads = threads});
  report(a.truth, oddities(dataset, truth), a.strict);
  return truth;
}

ttt::harness::Answer run(const Arguments& a, const ttt::Start& start) {
  if (a.truth.empty() || a.detections.empty())
    throw ttt::UsageError("Two files are needed. Give the ground truth and the detections: coco_eval GT.json DT.json.");
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  ttt::ThreadPool pool(a.threads > 0 ? a.threads : cores);
  bool masks = false;
  for (const std::string& type : a.types) masks |= type == "segm";
  const GroundTruth truth = read_truth(a, masks, pool.threads());
  const ResultFile results = read_results(a.detections, truth, {.masks = masks, .pool = &pool});
  report(a.detections, oddities(results.detections, truth), a.strict);
  if (results.detections.empty()) {
    std::fprintf(
        stderr, "coco_eval: %s holds no detections: recall is 0 where there are objects.\n", a.detections.c_str());
  }
  const Prepared prepared(truth, results.detections, &pool);
  const NumpySum sum = a.numpy == "2.3" ? NumpySum::kFrom2_3 : NumpySum::kBefore2_3;
  start(a.detections + " against " + a.truth);
  ttt::harness::Answer answer;
  Json out;
  Evaluation e;
  for (const std::string& type : a.types) {
    e = evaluate(prepared, type == "bbox" ? IouType::kBbox : IouType::kSegm, sum, &pool, std::move(e));
    std::printf("Evaluate annotation type *%s*\n%s", type.c_str(), summary_text(e.stats).c_str());
    answer.figures.push_back({type + "_ap", e.stats[0], "score"});
    if (!a.out.empty()) out[type] = to_json(e, a.hashes);
  }
  if (a.out.empty()) return answer;
  ttt::write_whole_file(a.out, ttt::result::dump(out) + "\n");
  answer.files = {a.out};
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"COCO's twelve numbers, AP and AR, of detections against a ground truth.", "coco_eval"};
  Arguments arguments;
  declare(app, arguments);
  return ttt::run_tool(app, argc, argv, [&](const ttt::Start& start) { return run(arguments, start); });
}
