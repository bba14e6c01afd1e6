// Weights in and out: one HDF5 file of named float32 tensors, with torchvision's names and shapes.
#pragma once

#include <cstdint>
#include <string>

#include "models/parameters.h"

namespace ttt::model {

// "/<name>" for each parameter and buffer, in file shape. Written to a temporary name and renamed.
void save_weights(const std::string& path, const ParameterStore& store);

// Fills every parameter and buffer whose name begins with `part` ("": all of the model); each must be there with its shape, and tensors
// of that part that the model does not have are refused, except below "/extra". Throws DataError naming the first, UsageError where
// there is no such file. data/convert_weights.py makes such files of published ones.
void load_weights(const std::string& path, ParameterStore& store, const std::string& part = "");
// Object classes and the background, of the model whose weights they are. Throws DataError where they are no Mask R-CNN's.
std::int64_t classes_of_weights(const std::string& path);
inline constexpr const char* kBackbonePart = "backbone.body.";  // the ResNet without its pyramid

}  // namespace ttt::model
