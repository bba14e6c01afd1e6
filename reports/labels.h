// Every header of a column and name of a row that a report may print. The test metrics_test looks each up in
// METRICS.md: what is printed is derived there.
#pragma once

#include <algorithm>
#include <string_view>

namespace ttt::reports {

inline constexpr std::string_view kLabels[] = {
    "",  // a column of names, or of remarks
    // Who and what.
    "result",
    "file",
    "kind",
    "verdict",
    "system",
    "ranks",
    "nodes",
    "commit",
    "recipe",
    "warning",
    "key",
    "this run",
    "build",
    "libraries",
    "data",
    "command",
    "why it was left out",
    "last",
    "seed",
    // Time to target.
    "time",
    "share of total",
    "epochs to target",
    "epochs trained",
    "x time per epoch",
    "time per epoch",
    "training",
    "= training",
    "+ evaluation (exposed)",
    "evaluation",
    "+ checkpoints (stall)",
    "+ lost to interruptions",
    "+ start-up",
    "start-up",
    "+ unaccounted",
    "= time to target",
    "= time without target",
    "time to target",
    "+ after the run",
    "= total by the clock",
    // Accuracy.
    "epoch",
    "step",
    "wall",
    "took",
    // Steps.
    "phase",
    "median",
    "share",
    "images/s",
    "images/s of a step",
    "images/s of training",
    "images/s of the run",
    "step time",
    "operation time",
    // Checkpoints and interruptions.
    "checkpoints",
    "stall",
    "writing",
    "stall / time between",
    "lost",
    "signal",
    "checkpoint",
    "changed",
    // GPUs.
    "GPU",
    "power",
    "SM clock",
    "busy",
    "temperature",
    "memory",
    "slowed by",
    "energy",
    "energy per image",
    // What ran on a device.
    "steps",
    "time of a step",
    "device busy",
    "kernels of a step",
    "copies and fills",
    "on rank 0",
    "calls of a step",
    "of all",
    // Ablations.
    "variant",
    "95 % interval",
    "finding",
    "builds",
    "pairs",
    "numbers",
    "cause",
    "its part of the change",
    "counters that changed",
    "factor",
    "main effect",
    "alone",
    "beside all others",
    "reached",
    "change of epochs",
    // Peaks of a machine.
    "peak",
    "best",
    "samples",
    "work",
    // Checks before a run.
    "check",
    "status",
    "what was found",
    "fact",
    "value",
    // Comparison of runs.
    "A",
    "epochs [to target]",
    "x time per epoch [s]",
    "= training [s]",
    "evaluation [s]",
    "start-up [s]",
    "time to target [s]",
    "images/s of a step, median",
    "time of a step, median [ms]",
    "95 % interval of its ratio",
    // Machines.
    "machine",
    "baseline step [ms]",
    "step time with bf16",
    // Scores.
    "start to stop",
    "counts",
    "Olympic mean",
    "fastest",
    "slowest",
    "spread",
    "minutes",
    "mean epochs",
    "reference epochs",
    "least accepted epochs",
    "convergence",
    "normalisation",
    "normalised minutes",
    "accelerators",
    "images/s per accelerator",
    // Logs, and the clocks of benchmarks.
    "line",
    "found by",
    "clock",
    "MLPerf",
    "DAWNBench",
    "total",
    // Timeline.
    "rank",
    "lane",
    "images",
    "working",
    "waiting for room",
    "communication",
    "behind backward",
    "behind data wait",
    "exposed",
    "elsewhere",
    "late ranks",
    "comm_exposed",
    // Scaling.
    "runs",
    "global batch",
    "images per rank",
    "speed-up",
    "efficiency",
    "time per epoch [s]",
    "time ratio",
    "= epochs ratio",
    "x epoch-time ratio",
    "x rest",
    // Accuracy over time.
    "epochs",
    "goal",
    "epochs: least",
    "epochs: median",
    "epochs: most",
    "wall: least",
    "wall: median",
    "wall: most",
    // Telemetry.
    "group",
    "parameters",
    "gradient norm",
    "weight norm",
    "weight norm: first",
    "weight norm: last",
    "update / weight",
    "ratio",
    "first third",
    "last third",
    "learning rate",
    "growth before",
    "growth after",
    "95 % interval of the change",
    "change found in",
    "jump of the norm",
    // A run that is under way.
    "loss",
    "to go",
    "elapsed",
    "last step",
    // Micro-benchmarks.
    "benchmark",
    "repetitions",
    "real time",
    "CPU time",
    "iterations",
};

// A label that is in the list: any other text does not compile.
class Label {
 public:
  template <std::size_t N> consteval Label(const char (&text)[N]) : text_(text) {
    if (std::find(std::begin(kLabels), std::end(kLabels), text_) == std::end(kLabels))
      throw "declare this label in kLabels and derive it in METRICS.md";
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace ttt::reports
