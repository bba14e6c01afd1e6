// A workload: a model, the evaluation that judges it, and the settings of both. The folders above name none.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/jpeg.h"
#include "data/settings.h"
#include "data/shard_set.h"
#include "models/model.h"
#include "models/ops/detection_ops.h"
#include "result/metrics.h"
#include "settings/field_table.h"

namespace ttt::eval {

// Accuracy of a model on the evaluation images, over all ranks.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Collective. When it returns, the model may change.
  virtual void start() = 0;
  // Whether finish() would not wait.
  virtual bool scored() const = 0;
  // Collective, once after each start(). The same metrics on every rank, in one order.
  virtual result::Metrics finish() = 0;
  virtual std::int64_t images() const = 0;

  result::Metrics evaluate() {
    start();
    return finish();
  }
};

// Pictures of what a model predicts, for telemetry.
struct Picture {
  std::string name;
  data::RgbImage image;
};
class Gallery {
 public:
  virtual ~Gallery() = default;
  virtual std::int64_t size() const = 0;
  // Predicts for picture `i`. The function that is returned draws it, on any thread; the gallery outlives it.
  virtual std::function<Picture()> predict(std::int64_t i) = 0;
};

// What a model is made from. `sync`: over what ranks add up within a pass; null: a single rank.
struct ModelInputs {
  const result::AnyGroup& settings;
  model::DetectionOps ops;
  std::uint64_t seed = 1;
  at::Device device{at::kCPU};
  comm::Communicator* sync = nullptr;
  // of the host, to which the device copies without the host waiting; outlives the model
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
};

// What an evaluator or a gallery is made from; all of it outlives them.
struct EvaluationInputs {
  model::Model& model;  // of this workload
  const data::ShardSet& images;
  data::DataSettings data;
  std::int64_t batch = 8;  // images of a rank
  comm::Communicator& comm;
  int threads = 1;
  at::Device device{at::kCPU};
  // of the host's batches, from which the device copies without the host waiting
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  // grows with each batch that was predicted, for other threads to see; null: none asks
  std::atomic<std::int64_t>* batches_done = nullptr;
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual result::AnyGroup settings() const = 0;  // table `model` of a recipe, with its defaults
  virtual result::AnyGroup targets() const = 0;   // keys of table `train`, with their defaults
  virtual result::Metrics target(const result::AnyGroup& targets) const = 0;
  virtual std::string precision(const result::AnyGroup& settings) const = 0;  // "fp32", "tf32", "bf16" or "fp16"
  // Throws UsageError for settings that contradict each other, naming the keys.
  virtual void check(
      const result::AnyGroup& settings, const data::DataSettings& data, const std::string& device) const = 0;
  // Whether training reads the objects' masks as bitmaps; false: the loader makes none.
  virtual bool reads_bitmaps(const result::AnyGroup& /*settings*/) const { return true; }
  // Fills in what the data set decides. Throws UsageError where the settings do not fit it.
  virtual void resolve(result::AnyGroup& settings, const data::ShardSet& images) const = 0;
  // Gives `settings`, of a training that makes a run's backbone, what decides the tensors of that backbone in `run`.
  virtual void match_backbone(result::AnyGroup& /*settings*/, const result::AnyGroup& /*run*/) const {}

  virtual std::unique_ptr<model::Model> make_model(ModelInputs inputs) const = 0;
  virtual std::unique_ptr<Evaluator> make_evaluator(const EvaluationInputs& inputs) const = 0;
  // Of the first `pictures` images; null where the workload draws none.
  virtual std::unique_ptr<Gallery> make_gallery(const EvaluationInputs&, std::int64_t /*pictures*/) const {
    return nullptr;
  }
};

}  // namespace ttt::eval
