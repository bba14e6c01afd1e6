// The state of a run between two steps, in one HDF5 file that exists whole under its name, or not at all.
// src/checkpoint/README.md says what lies where. No tensors here: arrays of float32 as files have them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/hdf5.h"
#include "result/run_record.h"

namespace ttt::train {

inline constexpr int kCheckpointVersion = 2;  // version 1 is read too

// An array in the order and shape of weights files (models/weights.h).
struct CheckpointArray {
  data::h5::Dims dims;
  std::vector<float> values;
};

// What is no array of the model.
struct CheckpointState {
  std::string run_id;
  std::int64_t step = 0, images = 0;  // done
  std::int64_t ranks = 1;
  std::string signal;                            // that the checkpoint answers; "" where none did
  double saved_unix_s = 0;                       // the moment whose state this is: seconds since 1970
  result::Clocks clocks;                         // at that moment
  result::Json recipe = result::Json::object();  // all settings, resolved
  result::Json data = result::Json::object();    // what names the data set
  result::RunRecord past;                        // RunRecorder::past()
  result::StepSeries steps;                      // all that were taken, reduced over ranks
  std::map<std::string, std::string> sections;   // of those who follow the run: any bytes, by name

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {  // `past` and the columns are apart
    v("run_id", s.run_id, ""), v("step", s.step, ""), v("images", s.images, ""), v("ranks", s.ranks, "");
    v("signal", s.signal, ""), v("saved_unix_s", s.saved_unix_s, "");
    v.group("clocks", "", [&](auto&& clocks) {
      clocks("init_s", s.clocks.init_s, ""), clocks("run_s", s.clocks.run_s, "");
      clocks("train_s", s.clocks.train_s, ""), clocks("lost_s", s.clocks.lost_s, "");
    });
    v("recipe", s.recipe, ""), v("data", s.data, "");
  }
};

struct Checkpoint {
  std::string path;
  CheckpointState state;
  std::map<std::string, CheckpointArray> weights;    // parameters and buffers, by name
  std::map<std::string, CheckpointArray> optimizer;  // its state: "<state>/<name>" of each trainable one, or "<state>"
  // [ranks, ...]: buffers that each rank has for itself; empty where none does
  std::map<std::string, CheckpointArray> per_rank;
};

// Hands one array after another to the file, as "/weights/<name>", "/optimizer/<state>/<name>" or "/per_rank/<name>".
using AddArray =
    std::function<void(const std::string& dataset, std::span<const float> values, const data::h5::Dims& dims)>;

// Writes `path` (under a temporary name, synced to the disk, renamed) and returns its size in bytes. `about_bytes`:
// reserved before anything is written, so that a full disk is met by a plain system call. Throws Error, and leaves
// nothing of the new file.
std::int64_t write_checkpoint(const std::string& path, const CheckpointState& state, std::uint64_t about_bytes,
    const std::function<void(const AddArray&)>& arrays);

// Reads and checks every byte. Throws UsageError where there is no such file, it may not be read or has another
// version. DataError naming what is wrong with it: cut short, a checksum that does not match, no checkpoint.
Checkpoint read_checkpoint(const std::string& path);

// All but steps and sections, as "/state" holds it; back. Throws DataError naming the member that is missing or wrong.
result::Json state_json(const CheckpointState& state);
CheckpointState state_from_json(const result::Json& object);

inline constexpr const char* kTemporarySuffix = ".tmp";

}  // namespace ttt::train
