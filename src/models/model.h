// A workload's model as the training step sees it: parameters, sections of the training pass, losses by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/batch.h"
#include "models/parameters.h"
#include "settings/json.h"

namespace ttt::model {

// A stretch of the training pass. The step cuts autograd's graph between sections, so that each section and its
// backward pass can be captured by itself. The cut changes no bit.
struct Section {
  std::string name;
  // Its outputs from those of the section before, none for the first. The last one's are scalars: the losses.
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs, const DeviceBatch& batch)> run;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual ParameterStore& parameters() = 0;
  virtual const std::vector<std::string>& loss_names() const = 0;  // of the last section's outputs, in order
  // In order; at least one. They refer to the model.
  virtual std::vector<Section> sections() const = 0;
  // Whether each rank's running statistics are its own.
  virtual bool buffers_per_rank() const { return false; }
  // Why a training pass cannot be captured on a device; "" where it can.
  virtual std::string not_capturable() const { return ""; }
  // Which curve of telemetry a parameter belongs to, by its name.
  virtual std::string layer_group(const std::string& parameter) const {
    return parameter.substr(0, parameter.find('.'));
  }
  // What was built, for the result: "precision", "ops", ...
  virtual result::Json describe() const = 0;
};

}  // namespace ttt::model
