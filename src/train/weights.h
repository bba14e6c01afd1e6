// Weights in and out: one HDF5 file of named float32 tensors, with torchvision's names and shapes.
#pragma once

#include <string>

#include "model/parameters.h"

namespace ttt::train {

// "/<name>" for each parameter and buffer, in file shape. Written to a temporary name and renamed.
void save_weights(const std::string& path, const model::ParameterStore& store);

// Every parameter and buffer of the model must be there with its shape; throws DataError naming the first that is not. Tensors
// that the model does not have are refused too, except under "/extra".
void load_weights(const std::string& path, model::ParameterStore& store);

}  // namespace ttt::train
