// A run: every number that defines it. Read from TOML (benchmarks/recipes), serialised into the result.
#pragma once

#include "checkpoint/config.h"
#include "comm/nccl_tuning.h"
#include "data/settings.h"
#include "eval/workload.h"
#include "health/stragglers.h"
#include "mlperf/config.h"
#include "telemetry/config.h"
#include "train/config.h"

namespace ttt::train {

// Table `train`: the training, the process that it runs in, and who follows it.
struct TrainSettings : TrainConfig {
  std::int64_t eval_batch = 8;
  std::int64_t threads = 0;
  bool keep_memory = true;
  bool cudnn_autotune = true;
  bool cudnn_deterministic = true;
  bool pin_memory = true;
  bool strict_sync = false;
  double gpu_every_s = 0.5;
  std::int64_t trace_steps = 0, trace_from = 10;
  std::int64_t profile_steps = 0;
  CheckpointConfig checkpoint;
  double watchdog_s = 300;
  std::int64_t check_replicas_every = 100;
  StragglerConfig stragglers;
  comm::NcclTuning nccl;
  TelemetryConfig telemetry;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("global_batch", s.global_batch,
        "images of a step over all ranks, a multiple of the number of ranks; 0: images_per_rank on each",
        between(0, 1e6));
    v("images_per_rank", s.images_per_rank, "images of a step on each rank, where global_batch is 0", between(1, 4096));
    v("accumulate", s.accumulate,
        "parts in which a rank's images of a step go through the model, one after the other, their gradients averaged: "
        "a large batch in the memory of a small one; a divisor of images_per_rank",
        between(1, 4096));
    v("epochs", s.epochs, "passes over the training images at most; a fraction ends within a pass", between(1e-3, 1e6));
    v("max_steps", s.max_steps, "stop after so many steps, without evaluation: verdict smoke; 0: no limit",
        between(0, 1e9));
    v("eval_every_epochs", s.eval_every_epochs, "epochs between evaluations; there is one at the end in any case",
        between(1e-3, 1e6));
    v("eval_near_every_epochs", s.eval_near_every_epochs,
        "epochs between evaluations near the target, which tell between epochs when it was met; 0: as far from it",
        between(0, 1e6));
    v("eval_near", s.eval_near, "share of each target from which on the accuracy is near it", between(0, 1));
    v("eval_from_epochs", s.eval_from_epochs, "no evaluation before so many epochs", between(0, 1e6));
    v("eval_batch", s.eval_batch, "images of an evaluation batch on one rank", between(1, 4096));
    v("eval_overlap", s.eval_overlap,
        "training continues while a thread of rank 0 computes AP from an evaluation's detections; a run that has "
        "reached "
        "its target ends when that is known, after more steps, with the weights of the last");
    v("", s.targets, "the workload's targets");
    v("threads", s.threads, "threads of a rank's tensor operations; 0: cores of the node / ranks on it",
        between(0, 1024));
    v("keep_memory", s.keep_memory,
        "what a step frees stays with the process for the next one, instead of going back to the system and coming "
        "again "
        "page by page");
    v("cudnn_autotune", s.cudnn_autotune,
        "cuDNN tries its algorithms at the first step of each shape and keeps the fastest, instead of choosing by "
        "rules");
    v("cudnn_deterministic", s.cudnn_deterministic,
        "cuDNN takes only algorithms that add in a fixed order, so that a step gives the same bits each time it is "
        "done; "
        "with cudnn_autotune the choice among them is the clock's, and another run's may differ");
    v("pin_memory", s.pin_memory,
        "the loader makes batches in memory that is locked for copies by the device, so that the host need not wait "
        "for "
        "them");
    v("copy_stream", s.copy_stream, "batches travel to the device by a stream of their own, beside the step before");
    v("loss_scale", s.loss_scale, "dynamic scaling of the loss, with model.precision = fp16");
    v("strict_sync", s.strict_sync,
        "a training step in which the host waits for the device, as far as torch notices (a number that is read, a "
        "copy "
        "that is not asynchronous), ends the run; but for the first of each size of images");
    v("gpu_every_s", s.gpu_every_s,
        "seconds between looks at a GPU's power, clocks and memory (health.gpus in the result); 0: none",
        between(0, 86400));
    v("graphs", s.graphs,
        "steps recorded as CUDA Graphs and replayed: none; parts: each part of the step that can be recorded; full: "
        "the "
        "whole step, one graph for each size of images",
        one_of({"none", "parts", "full"}));
    files_and_followers(s, v);
  }

 private:
  template <class Self, class V> static void files_and_followers(Self& s, V&& v) {
    v("weights", s.weights, "HDF5 file of initial weights (data/convert_weights.py); empty: random from the seed");
    v("weights_backbone", s.weights_backbone,
        "HDF5 file with initial weights of the backbone alone; empty: random from the seed");
    v("pretraining", s.pretraining,
        "recipe by whose training the backbone, in this recipe's architecture, gets its initial weights, where neither "
        "weights nor weights_backbone are given; made once and kept in the cache folder; empty: none");
    v("save_weights", s.save_weights, "HDF5 file that gets the weights at the end of the run; empty: none");
    v("trace_steps", s.trace_steps,
        "steps of which the result says what every thread of every rank did when ('report timeline'); 0: none",
        between(0, 10000));
    v("profile_steps", s.profile_steps,
        "steps, from trace_from on, of which the result says for how much of the time the GPU was busy and which "
        "kernels "
        "took it (health.profile); 0: none. They take longer by the noting",
        between(0, 10000));
    v("trace_from", s.trace_from, "the first of them, from 0; the very first steps of a run are unlike the others",
        between(0, 1e9));
    v("checkpoint", s.checkpoint, "saving the run's state, and resuming from it");
    v("watchdog_s", s.watchdog_s,
        "the run ends where no rank makes progress for so long, and says which one the others wait for; 0: never [s]",
        between(0, 1e6));
    v("check_replicas_every", s.check_replicas_every,
        "steps after which the weights and momentum of all ranks are compared (and before each evaluation); 0: never, "
        "as "
        "with reducer.kind none, where they differ by intent",
        between(0, 1e9));
    v("stragglers", s.stragglers, "ranks that are slower than the others");
    v("reducer", s.reducer, "gradients over ranks");
    v("nccl", s.nccl, "how NCCL carries them, with device = cuda and several ranks");
    v("schedule", s.schedule, "learning rate");
    v("phases", s.phases,
        "parts of the run, one after the other, with images of another size or another learning rate");
    v("optimizer", s.optimizer, "how gradients change weights");
    v("telemetry", s.telemetry, "what TensorBoard shows of the run");
  }
};

struct Recipe {
  Recipe() = default;
  explicit Recipe(const eval::Workload& w) : workload(&w), model(w.settings()) { train.targets = w.targets(); }

  const eval::Workload* workload = nullptr;  // of the program, which no setting chooses
  result::AnyGroup model;
  std::int64_t seed = 1;
  std::string device = "cpu";
  data::DataSettings data;
  TrainSettings train;
  MlperfConfig mlperf;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("seed", s.seed, "of initialisation, order, flips and sampling", between(0, 9.2e18));
    v("device", s.device, "where tensors live", one_of({"cpu", "cuda"}));
    v("data", s.data, "images and their transformation");
    v("model", s.model, "the network");
    v("train", s.train, "training to the target");
    v("mlperf", s.mlperf, "MLPerf's log and rules");
  }
};

// Throws UsageError for settings that contradict each other, whatever the data and the launch, naming the keys;
// NotSupported for a precision that the device lacks.
void check(const Recipe& recipe);

}  // namespace ttt::train
