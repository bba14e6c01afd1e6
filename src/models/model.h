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
  // Its outputs from those of the section before, none for the first and for a joined one. The last one's are scalars:
  // the losses.
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs, const DeviceBatch& batch)> run;
  // Nothing is cut before it: it shares one backward pass with the section before, which returns nothing.
  bool joined = false;
  // On the host, once the device has the section's work: never captured. Empty: nothing.
  std::function<void()> after = {};
  // In which form it runs in this step: each is captured by itself. Asked before it runs; the host may wait for what an
  // earlier section's `after` has marked. Empty: it has one form.
  std::function<std::int64_t()> form = {};
};

class Model {
 public:
  virtual ~Model() = default;
  virtual ParameterStore& parameters() = 0;
  virtual const std::vector<std::string>& loss_names() const = 0;  // of the last section's outputs, in order
  // Of one pass, in order; at least one. They refer to the model, and may hand on more than their outputs.
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
