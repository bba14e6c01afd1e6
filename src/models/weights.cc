#include "models/weights.h"

#include <ATen/ops/from_blob.h>

#include <filesystem>
#include <set>

#include "core/error.h"
#include "data/hdf5.h"

namespace ttt::model {

void save_weights(const std::string& path, const ParameterStore& store) {
  const std::string temporary = path + ".tmp";
  {
    data::h5::File file = data::h5::File::create(temporary);
    for (const Parameter& p : store.all()) {
      const at::Tensor values = store.to_file(p);
      file.write<float>("/" + p.name, {values.const_data_ptr<float>(), static_cast<std::size_t>(values.numel())},
                        data::h5::Dims(p.file_shape.begin(), p.file_shape.end()));
    }
    file.close();
  }
  std::filesystem::rename(temporary, path);
}

void load_weights(const std::string& path, ParameterStore& store, const std::string& part) {
  const data::h5::File file = data::h5::File::open(path);
  std::set<std::string> unused;
  for (const std::string& name : file.datasets())
    if (!name.starts_with("/extra/") && name.starts_with("/" + part)) unused.insert(name);
  for (Parameter& p : store.all()) {
    if (!p.name.starts_with(part)) continue;
    const std::string name = "/" + p.name;
    if (!file.has(name))
      throw DataError("Weights '" + path + "' have no tensor '" + p.name +
                      "'. Use weights of this architecture, or change the recipe's model.backbone keys.");
    const data::h5::Dims dims = file.dims(name);
    std::vector<float> values = file.read<float>(name);
    store.from_file(p, at::from_blob(values.data(), std::vector<std::int64_t>(dims.begin(), dims.end()), at::kFloat), path);
    unused.erase(name);
  }
  if (!unused.empty())
    throw DataError("Weights '" + path + "' hold '" + *unused.begin() + "', which this model does not have (" + std::to_string(unused.size()) +
                    " such tensors). Use weights of this architecture, or move them under /extra.");
}

std::int64_t classes_of_weights(const std::string& path) {
  const data::h5::File file = data::h5::File::open(path);
  const std::string bias = "/roi_heads.box_predictor.cls_score.bias";
  if (!file.has(bias))
    throw DataError("Weights '" + path + "' have no tensor '" + bias.substr(1) + "', so they are not those of a Mask R-CNN. Name a file of train.save_weights or data/convert_weights.py.");
  return static_cast<std::int64_t>(file.dims(bias).at(0));
}

}  // namespace ttt::model
