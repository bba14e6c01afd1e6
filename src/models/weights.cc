#include "models/weights.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "data/hdf5.h"
#include "data/sealed_file.h"

namespace ttt::model {
namespace {

constexpr int kWeightsVersion = 1;

const data::SealKind& kind() {
  static const data::SealKind kind{.magic = "ttt-weights",
                                   .name = "The weights file",
                                   .remedy = "Copy it again, or write it again with train.save_weights or data/convert_weights.py.",
                                   .digest = data::Digest::kSha256};
  return kind;
}

data::h5::File open_weights(const std::string& path) {
  if (const int version = data::check_seal(path, kind()); version != kWeightsVersion)
    throw UsageError("The weights file '" + path + "' has version " + std::to_string(version) + ", this program reads version " +
                     std::to_string(kWeightsVersion) + ". Use the build that wrote it.");
  return data::h5::File::open(path);
}

}  // namespace

void save_weights(const std::string& path, const ParameterStore& store) {
  const std::string temporary = path + ".tmp";
  {
    data::h5::File file = data::h5::File::create(temporary, data::kSealBytes);
    for (const Parameter& p : store.all()) {
      const at::Tensor values = store.to_file(p);
      file.write<float>("/" + p.name, {values.const_data_ptr<float>(), static_cast<std::size_t>(values.numel())},
                        data::h5::Dims(p.file_shape.begin(), p.file_shape.end()));
    }
    file.close();
  }
  data::seal(temporary, kind(), kWeightsVersion);
  std::filesystem::rename(temporary, path);
}

void load_weights(const std::string& path, ParameterStore& store, const std::string& part) {
  const data::h5::File file = open_weights(path);
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
    if (const auto bad = std::count_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }); bad > 0)
      throw DataError("The weights file '" + path + "': " + std::to_string(bad) + " values of '" + p.name + "' are not finite. Use weights of a run that converged.");
    store.from_file(p, at::from_blob(values.data(), std::vector<std::int64_t>(dims.begin(), dims.end()), at::kFloat), path);
    unused.erase(name);
  }
  if (!unused.empty())
    throw DataError("Weights '" + path + "' hold '" + *unused.begin() + "', which this model does not have (" + std::to_string(unused.size()) +
                    " such tensors). Use weights of this architecture, or move them under /extra.");
}

std::int64_t classes_of_weights(const std::string& path) {
  const data::h5::File file = open_weights(path);
  const std::string bias = "/roi_heads.box_predictor.cls_score.bias";
  if (!file.has(bias))
    throw DataError("Weights '" + path + "' have no tensor '" + bias.substr(1) + "', so they are not those of a Mask R-CNN. Name a file of train.save_weights or data/convert_weights.py.");
  const data::h5::Dims dims = file.dims(bias);
  if (dims.size() != 1 || dims[0] < 2 || dims[0] > 10000)
    throw DataError("Weights '" + path + "': '" + bias.substr(1) + "' has " + std::to_string(dims.size()) + " dimensions" +
                    (dims.size() == 1 ? " of " + std::to_string(dims[0]) + " values" : "") + ", expected one of 2 to 10000 classes. Use weights of a Mask R-CNN.");
  return static_cast<std::int64_t>(dims[0]);
}

}  // namespace ttt::model
