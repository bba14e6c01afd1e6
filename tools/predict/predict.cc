// Finds objects in images with trained weights: pictures with boxes, masks, names and scores, and COCO's result format.
#include <ATen/Parallel.h>

#include <charconv>
#include <filesystem>
#include <set>
#include <thread>

#include "app/tool.h"
#include "core/text.h"
#include "core/whole_file.h"
#include "data/collate.h"
#include "data/png.h"
#include "data/shard_set.h"
#include "embedded_recipes.h"
#include "eval/detector.h"
#include "eval/draw/objects.h"
#include "eval/mask_rcnn.h"
#include "models/ops/detection_ops.h"
#include "models/weights.h"
#include "run/assemble.h"
#include "settings/json.h"
#include "settings/settings_reader.h"
#include "tools/predict/categories.h"

namespace {

using namespace ttt;
namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> images, set;
  std::string weights, recipe, data, out, json;
  double threshold = 0.5;
  bool force = false;
};

constexpr const char* kFooter =
    "The recipe is that of the training: the network, and how images are resized. Its number of classes is taken from "
    "the weights.\n"
    "Names of categories are those of --data, else COCO's for a model of 80 or 90 categories, else those of the "
    "generated shapes.\n"
    "image_id in --json is the number in the file's name where every name is one (000000000139.jpg), else the place "
    "among the arguments, from 1.\n"
    "An image that cannot be read is named and left out; the exit code tells.\n"
    "Example: predict photo.jpg --weights trained.h5 --out predictions --json predictions.json";

void declare(CLI::App& app, Arguments& a) {
  app.add_option("images", a.images, "JPEG or PNG files")->required()->type_name("IMAGE...");
  app.add_option("--weights", a.weights, "HDF5 file of train.save_weights or data/convert_weights.py")
      ->required()
      ->type_name("FILE");
  app.add_option("--recipe", a.recipe, "Recipe of the training: a TOML file or a name")->type_name("FILE|NAME");
  app.add_option("--set", a.set, "Override one setting of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--data", a.data, "Folder of packed shards whose categories the model was trained on")
      ->type_name("DIR");
  app.add_option("--out", a.out, "Folder that gets a picture NAME.png for each image, made where it is missing")
      ->type_name("FOLDER");
  app.add_option("--json", a.json, "File that gets all detections with boxes and masks, in COCO's result format")
      ->type_name("FILE");
  app.add_option(
         "--threshold", a.threshold, "Score from which on an object is drawn; --json has all that model.roi keeps")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--force", a.force, "Replace what --out and --json name, where it exists");
  app.footer(kFooter);
}

train::Recipe read_recipe(const Arguments& a) {
  train::Recipe recipe(eval::mask_rcnn());
  result::FieldTable table = result::field_table(recipe);
  harness::read_recipe_named(table, embedded_recipes(), a.recipe);
  std::vector<harness::Override> overrides;
  for (const std::string& text : a.set) overrides.push_back(harness::parse_override(table, text));
  harness::apply_overrides(table, overrides);
  result::assign(table, recipe);
  data::check(recipe.data);
  if (recipe.device != "cpu")
    throw NotSupported("device = \"" + recipe.device + "\": predict computes on CPUs only. Leave device out.");
  if (recipe.model.as<model::ModelConfig>().backbone.norm == "sync")
    recipe.model.as<model::ModelConfig>().backbone.norm = "batch";  // the same but in training
  return recipe;
}

// What --data says, else what the number of classes says.
std::vector<coco::Category> read_categories(const Arguments& a, std::int64_t classes) {
  if (a.data.empty()) return categories_of(classes);
  const auto categories = data::ShardSet(a.data, "val").categories();
  if (std::ssize(categories) + 1 != classes)
    throw UsageError("The weights '" + a.weights + "' are those of " + std::to_string(classes - 1) +
                     " categories, and '" + a.data + "' has " + std::to_string(categories.size()) +
                     ". Name the data set of the training with --data, or leave it out.");
  return categories;
}

std::string picture_of(const Arguments& a, const std::string& image) {
  return (fs::path(a.out) / fs::path(image).stem()).string() + ".png";
}

// Before the first image: a picture that is refused at the end would have cost all the work.
void check_outputs(const Arguments& a) {
  if (a.out.empty() && a.json.empty())
    throw UsageError(
        "Nothing would be written. Name a folder for pictures with --out, a file for detections with --json, or both.");
  std::vector<std::string> files;
  if (!a.json.empty()) files.push_back(a.json);
  if (!a.out.empty())
    for (const std::string& image : a.images) files.push_back(picture_of(a, image));
  std::set<std::string> taken;
  for (const std::string& file : files) {
    if (!taken.insert(file).second)
      throw UsageError("Two images would be written to '" + file + "'. Name them in two runs, with two folders --out.");
    if (!a.force && fs::exists(file))
      throw UsageError("'" + file + "' exists already. Replace it with --force, or name another place.");
  }
  std::error_code error;
  if (!a.out.empty() && (fs::create_directories(a.out, error), error))
    throw UsageError(
        "The folder '" + a.out + "' cannot be made (" + error.message() + "). Name another one with --out.");
}

std::vector<std::int64_t> image_ids(const std::vector<std::string>& files) {
  std::vector<std::int64_t> ids;
  std::set<std::int64_t> different;
  for (const std::string& file : files) {
    const std::string name = fs::path(file).stem().string();
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error == std::errc() && end == name.data() + name.size() && id >= 0) ids.push_back(id), different.insert(id);
  }
  if (ids.size() == files.size() && different.size() == files.size()) return ids;
  ids.resize(files.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i) + 1;
  return ids;
}

data::RgbImage read_image(const std::string& file) {
  const std::string text = read_whole_file(file);
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  try {
    if (text.starts_with("\x89PNG")) return data::decode_png(bytes);
    if (!text.starts_with("\xff\xd8")) throw DataError("is neither a JPEG nor a PNG: name an image of either kind.");
    data::RgbImage image;
    data::JpegDecoder().decode(bytes, image);
    return image;
  } catch (const DataError& e) { throw DataError("'" + file + "' " + e.what()); }
}

result::Json entry(const eval::coco::Detection& d, std::int64_t image_id) {
  return {{"image_id", image_id}, {"category_id", d.category_id}, {"bbox", d.bbox}, {"score", d.score},
      {"segmentation", {{"size", {d.mask.height, d.mask.width}}, {"counts", coco::to_string(d.mask)}}}};
}

class Program {
 public:
  explicit Program(const Arguments& a) : arguments_(a), recipe_(read_recipe(a)) {
    check_outputs(a);
    recipe_.model.as<model::ModelConfig>().classes = model::classes_of_weights(a.weights);
    categories_ = read_categories(a, recipe_.model.as<model::ModelConfig>().classes);
    make_mkl_reproducible();
    const int cores = std::max(1, usable_cores());
    const int threads = recipe_.train.threads > 0 ? static_cast<int>(recipe_.train.threads) : cores;
    at::set_num_threads(threads);
    detector_.legacy_boxes = recipe_.model.as<model::ModelConfig>().legacy_boxes;
    for (const coco::Category& c : categories_) detector_.category_of.push_back(c.id);
    model_ = std::make_unique<model::MaskRcnn>(recipe_.model.as<model::ModelConfig>(),
        model::host_ops(std::make_shared<ThreadPool>(threads)), 0, at::kCPU, nullptr);
    model::load_weights(a.weights, model_->parameters());
  }

  // The exit code is that of the last image that could not be read.
  harness::Answer run(const Start& start) {
    const std::vector<std::int64_t> ids = image_ids(arguments_.images);
    start(result::counted(ids.size(), "image") + ", weights " + arguments_.weights);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      try {
        predict(arguments_.images[i], ids[i]);
      } catch (const Error& e) {
        std::fprintf(stderr, "predict: left out: %s\n", e.what());
        answer_.exit_code = e.exit_code(), answer_.verdict = result::Verdict::kFailed;
      }
    }
    if (!arguments_.json.empty()) {
      write_whole_file(arguments_.json, result::dump(entries_, -1) + "\n");
      answer_.files.push_back(arguments_.json);
    }
    answer_.figures = {{"images", images_, "images"}, {"objects", objects_, "objects"}};
    return answer_;
  }

 private:
  void predict(const std::string& file, std::int64_t id) {
    const data::RgbImage image = read_image(file);
    const auto found = detector_(*model_, image, recipe_.data, "'" + file + "'");
    for (const auto& d : found) entries_.push_back(entry(d, id));
    const auto shown = eval::worth_showing(found, arguments_.threshold);
    std::vector<eval::Marked> objects;
    for (const auto* d : shown) objects.push_back(eval::marked(*d, name_of(d->category_id)));
    std::string labels;  // the best first
    for (auto m = objects.rbegin(); m != objects.rend(); ++m) labels += (labels.empty() ? "" : ", ") + m->label;
    if (labels.empty()) labels = found.empty() ? "no object" : "no object with this score";
    std::printf("%s: %s\n", file.c_str(), labels.c_str());
    ++images_, objects_ += static_cast<double>(objects.size());
    if (arguments_.out.empty()) return;
    const std::string picture = picture_of(arguments_, file);
    write_whole_file(picture, data::encode_png(eval::draw(image, objects, eval::magnification(image))));
    answer_.files.push_back(picture);
  }

  std::string name_of(std::int64_t category) const {
    for (const coco::Category& c : categories_)
      if (c.id == category) return c.name;
    return "";
  }

  const Arguments& arguments_;
  train::Recipe recipe_;
  std::vector<coco::Category> categories_;
  eval::Detector detector_;
  std::unique_ptr<model::MaskRcnn> model_;
  result::Json entries_ = result::Json::array();
  harness::Answer answer_;
  double images_ = 0, objects_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Finds objects in images with trained weights: pictures with boxes, masks, names and scores, and COCO's result "
      "format.",
      "predict");
  Arguments arguments;
  declare(app, arguments);
  return run_tool(app, argc, argv, [&](const Start& start) { return Program(arguments).run(start); });
}
