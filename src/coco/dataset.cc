#include "coco/dataset.h"

#include "coco/json_reader.h"
#include "core/error.h"

namespace ttt::coco {
namespace {

using json::Place;
using json::ondemand::array;
using json::ondemand::field;
using json::ondemand::object;
using json::ondemand::raw_json_string;
using json::ondemand::value;

bool operator==(const raw_json_string& key, const char* name) { return key == std::string_view(name); }

std::string read_string(value v) { return std::string(std::string_view(v.get_string())); }

bool read_flag(value v) {
  if (v.type() == json::ondemand::json_type::boolean) return v.get_bool();
  return v.get_double() != 0;
}

Image read_image(object o, Place& place) {
  Image image;
  bool has_id = false;
  for (field f : o) {
    const raw_json_string key = f.key();
    if (key == "id") {
      place.at("id", "a whole number");
      place.id = image.id = json::read_id(f.value());
      has_id = true;
    } else if (key == "height") {
      place.at("height", "a whole number of pixels");
      image.height = json::read_uint32(f.value());
    } else if (key == "width") {
      place.at("width", "a whole number of pixels");
      image.width = json::read_uint32(f.value());
    } else if (key == "file_name") {
      place.at("file_name", "a string");
      image.file_name = read_string(f.value());
    }
  }
  if (!has_id) json::fail_missing(place, "id", "id, height, width and file_name");
  return image;
}

Category read_category(object o, Place& place) {
  Category category;
  bool has_id = false;
  for (field f : o) {
    const raw_json_string key = f.key();
    if (key == "id") {
      place.at("id", "a whole number");
      place.id = category.id = json::read_id(f.value());
      has_id = true;
    } else if (key == "name") {
      place.at("name", "a string");
      category.name = read_string(f.value());
    }
  }
  if (!has_id) json::fail_missing(place, "id", "id and name");
  return category;
}

Annotation read_annotation(object o, json::RunBuffer& buffer, Place& place) {
  Annotation a;
  bool has_id = false, has_image = false, has_category = false, has_box = false, has_area = false;
  for (field f : o) {
    const raw_json_string key = f.key();
    if (key == "id") {
      place.at("id", "a whole number");
      place.id = a.id = json::read_id(f.value());
      has_id = true;
    } else if (key == "image_id") {
      place.at("image_id", "a whole number");
      a.image_id = json::read_id(f.value());
      has_image = true;
    } else if (key == "category_id") {
      place.at("category_id", "a whole number");
      a.category_id = json::read_id(f.value());
      has_category = true;
    } else if (key == "bbox") {
      place.at("bbox", "[x, y, width, height]");
      a.bbox = json::read_box(f.value(), place);
      has_box = true;
    } else if (key == "area") {
      place.at("area", "a number");
      a.area = f.value().get_double();
      has_area = true;
    } else if (key == "iscrowd") {
      place.at("iscrowd", "0 or 1");
      a.iscrowd = read_flag(f.value());
    } else if (key == "segmentation") {
      a.segmentation = json::read_segmentation(f.value(), buffer, place);
    }
  }
  const char* missing = !has_id         ? "id"
                        : !has_image    ? "image_id"
                        : !has_category ? "category_id"
                        : !has_box      ? "bbox"
                        : !has_area     ? "area"
                                        : nullptr;
  if (missing) json::fail_missing(place, missing, "id, image_id, category_id, bbox and area");
  return a;
}

// Calls read_one for each element of a list, with `place` standing at it.
template <class T, class ReadOne>
void read_list(value list, const char* name, std::vector<T>& out, Place& place, ReadOne&& read_one) {
  out.clear();
  place.list = name;
  place.at(nullptr, "a list of objects");
  for (value element : list.get_array()) {
    place.index = static_cast<std::int64_t>(out.size());
    place.id.reset();
    place.at(nullptr, "a list of objects");
    out.push_back(read_one(element.get_object()));
  }
  place.list.clear();
  place.index = -1;
  place.id.reset();
  place.at(nullptr, "an object with the lists 'images', 'annotations' and 'categories'");
}

Dataset read_document(json::ondemand::document& document, Place& place) {
  Dataset out;
  json::RunBuffer buffer;
  bool images = false, annotations = false, categories = false;
  place.at(nullptr, "an object with the lists 'images', 'annotations' and 'categories'");
  for (field f : document.get_object()) {
    const raw_json_string key = f.key();
    if (key == "images") {
      images = true;
      read_list(f.value(), "images", out.images, place, [&](object o) { return read_image(o, place); });
    } else if (key == "annotations") {
      annotations = true;
      read_list(f.value(), "annotations", out.annotations, place,
          [&](object o) { return read_annotation(o, buffer, place); });
    } else if (key == "categories") {
      categories = true;
      read_list(f.value(), "categories", out.categories, place, [&](object o) { return read_category(o, place); });
    }
  }
  const bool more = document.current_location().error() == simdjson::SUCCESS;  // text after the closing brace
  if (more) throw simdjson::simdjson_error(simdjson::TAPE_ERROR);
  const char* missing = !images ? "images" : !annotations ? "annotations" : !categories ? "categories" : nullptr;
  if (missing) json::fail_missing(place, missing, "the lists images, annotations and categories (instances_*.json)");
  return out;
}

Dataset parse(const simdjson::padded_string& text, const std::string& name) {
  Place place{.file = name};
  try {
    json::ondemand::parser parser;
    json::ondemand::document document = parser.iterate(text);
    return read_document(document, place);
  } catch (const simdjson::simdjson_error& error) { json::fail_json(place, error); }
}

}  // namespace

Dataset read_instances(const std::string& path) { return parse(json::load(path), path); }

Dataset parse_instances(std::string_view text, const std::string& name) {
  return parse(simdjson::padded_string(text), name);
}

Rle mask_of(const Annotation& annotation, const Image& image) {
  const auto name = [&] {
    return "Annotation " + std::to_string(annotation.id) + " of image " + std::to_string(image.id);
  };
  if (const Rle* rle = std::get_if<Rle>(&annotation.segmentation)) return *rle;
  const auto* polygons = std::get_if<std::vector<Polygon>>(&annotation.segmentation);
  if (polygons == nullptr || polygons->empty()) {
    throw DataError(name() + " has no segmentation. Add polygons or run lengths, or leave masks out.");
  }
  if (image.height == 0 || image.width == 0) {
    throw DataError(name() + " has polygons, but the image has no height and width. Add them.");
  }
  try {
    return rasterize(*polygons, image.height, image.width);
  } catch (const DataError& e) { throw DataError(name() + ": " + e.what()); }
}

}  // namespace ttt::coco
