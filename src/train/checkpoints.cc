#include "train/checkpoints.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "result/fields_json.h"
#include "result/provenance.h"

namespace ttt::train {
namespace {

using data::h5::Dims;
using model::Parameter;

// Of HDF5's own structures for one dataset, generously.
constexpr std::uint64_t kBytesPerDataset = 2048;

double unix_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

Dims dims_of(const std::vector<std::int64_t>& shape) { return {shape.begin(), shape.end()}; }

void copy_into(float* target, const at::Tensor& source, at::IntArrayRef shape) { at::from_blob(target, shape, at::kFloat).copy_(source.detach()); }

// The values that a parameter has at `memory` (its layout), in the order of files.
std::span<const float> in_file_order(const Parameter& p, const float* memory, std::vector<float>& scratch) {
  const auto count = static_cast<std::size_t>(p.count);
  if (p.layout == model::Layout::kPlain) return {memory, count};
  const std::int64_t outer = p.shape[0], inner = p.shape[1], window = p.shape[2] * p.shape[3];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t w = 0; w < window; ++w)
      for (std::int64_t i = 0; i < inner; ++i)
        scratch[static_cast<std::size_t>((o * inner + i) * window + w)] = memory[(o * window + w) * inner + i];
  return {scratch.data(), count};
}

const CheckpointArray& array_of(const std::map<std::string, CheckpointArray>& arrays, const Parameter& p, const std::string& path, const std::string& kind) {
  const auto found = arrays.find(p.name);
  if (found == arrays.end() || found->second.dims != dims_of(p.file_shape))
    throw DataError("The checkpoint '" + path + "' has no " + kind + " of '" + p.name + "' in this model's shape. Use the build that wrote it.");
  return found->second;
}

at::Tensor tensor_of(const CheckpointArray& a) {
  return at::from_blob(const_cast<float*>(a.values.data()), std::vector<std::int64_t>(a.dims.begin(), a.dims.end()), at::kFloat);
}

// Rank 0's values on every rank.
void broadcast(comm::Communicator& comm, const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kCPU).contiguous();
  comm.broadcast(host.data_ptr<float>(), static_cast<std::size_t>(host.numel()) * sizeof(float), 0);
  if (host.const_data_ptr() != tensor.const_data_ptr()) tensor.detach().copy_(host);
}

template <class T>
void broadcast(comm::Communicator& comm, std::vector<T>& values) {
  std::uint64_t size = values.size();
  comm.broadcast(&size, sizeof size, 0);
  values.resize(size);
  if (size > 0) comm.broadcast(values.data(), size * sizeof(T), 0);
}

Sections broadcast(comm::Communicator& comm, const Sections& sections) {
  std::uint64_t size = sections.size();
  comm.broadcast(&size, sizeof size, 0);
  Sections out;
  auto next = sections.begin();
  for (std::uint64_t i = 0; i < size; ++i) {
    const bool root = comm.rank() == 0;
    const std::string name = comm::broadcast_text(comm, root ? next->first : "");
    out[name] = comm::broadcast_text(comm, root ? (next++)->second : "");
  }
  return out;
}

}  // namespace

Checkpoints::Checkpoints(CheckpointParts parts, Earlier earlier) : parts_(std::move(parts)), folder_(std::move(earlier.folder)) {
  const CheckpointConfig& config = parts_.recipe.train.checkpoint;
  writes_ = !config.folder.empty();
  if (config.every_epochs > 0) interval_ = std::max<std::int64_t>(1, std::llround(config.every_epochs * static_cast<double>(parts_.steps_per_epoch)));
  for (const std::string& sentence : earlier.warnings) warn(sentence);
  std::uint8_t there = earlier.checkpoint.has_value();
  parts_.control.broadcast(&there, 1, 0);
  if (there) restore(earlier.checkpoint ? &*earlier.checkpoint : nullptr);
  if (!folder_) return;
  std::int64_t fixed = 0, longest = 0;
  for (const Parameter& p : parts_.parameters.all()) {
    longest = std::max(longest, p.count);
    if (!p.trainable) fixed += p.count;
    layout_.push_back(p);
    layout_.back().value = {};
  }
  weights_.resize(static_cast<std::size_t>(parts_.parameters.flat_values().numel()));
  momentum_.resize(weights_.size());
  fixed_.resize(static_cast<std::size_t>(fixed));
  scratch_.resize(static_cast<std::size_t>(longest));
}

void Checkpoints::warn(const std::string& sentence) {
  parts_.recorder.warn(sentence);
  if (parts_.warn) parts_.warn(sentence);
}

void Checkpoints::check(const Checkpoint& c) {
  resume_->changed = changed_settings(c.state.recipe, result::fields_json(parts_.recipe), c.path);
  if (c.state.data != parts_.data)
    throw UsageError("The checkpoint '" + c.path + "' was made on the data " + c.state.data.dump() + ", and this run has " + parts_.data.dump() +
                     ". Name the same data set with --data, or another train.checkpoint.folder for a run of its own.");
}

void Checkpoints::restore(const Checkpoint* c) {
  resume_ = result::Resume{.ranks = parts_.control.size(), .resumed_at = result::utc_now()};
  if (c) check(*c);
  restore_record(c);
  restore_model(c);
  restore_per_rank(c);
}

void Checkpoints::restore_record(const Checkpoint* c) {
  comm::Communicator& comm = parts_.control;
  CheckpointState state = c ? c->state : CheckpointState{};
  std::string name = c ? std::filesystem::path(c->path).filename().string() : "";
  // One rank's clock for all: the others' calendars may differ.
  double since_s = unix_s() - state.saved_unix_s;
  comm.broadcast(&since_s, sizeof since_s, 0);
  result::StepSeries steps = std::move(state.steps);
  result::for_each_column(steps, [&](const std::string&, auto& column) { broadcast(comm, column); });
  sections_ = broadcast(comm, state.sections);
  const std::string changed = comm::broadcast_text(comm, result::dump(resume_->changed, -1));
  name = comm::broadcast_text(comm, name);
  state = state_from_json(result::parse(comm::broadcast_text(comm, result::dump(state_json(state), -1)), "The checkpoint"));

  progress_ = {.step = state.step, .images = state.images};
  resume_->step = state.step, resume_->ranks_before = state.ranks, resume_->signal = state.signal;
  resume_->checkpoint = name, resume_->changed = result::parse(changed, "The checkpoint");
  seen_ = steps.size();
  state.past.steps = steps;
  parts_.recorder.restore(state.past);
  if (folder_) steps_ = std::move(steps);
  parts_.clock.go_on(state.clocks, since_s);
  lost_before_s_ = state.clocks.lost_s;
}

void Checkpoints::restore_model(const Checkpoint* c) {
  model::ParameterStore& store = parts_.parameters;
  const at::Tensor momentum = parts_.optimizer.momentum();
  for (Parameter& p : store.all()) {
    if (!c) break;
    store.from_file(p, tensor_of(array_of(c->weights, p, c->path, "weights")), c->path);
    if (p.trainable) store.view_of(momentum, p).copy_(tensor_of(array_of(c->momentum, p, c->path, "momentum")).view(p.shape));
  }
  broadcast(parts_.control, store.flat_values());
  broadcast(parts_.control, momentum);
  for (Parameter& p : store.all())
    if (!p.trainable) broadcast(parts_.control, p.value);
}

// Each rank gets its own again, or on another number of ranks all get the mean, as in an evaluation.
void Checkpoints::restore_per_rank(const Checkpoint* c) {
  const std::int64_t ranks = resume_->ranks_before;
  if (!buffers_per_rank() || ranks == 1) return;
  for (Parameter& p : parts_.parameters.all()) {
    if (!p.buffer) continue;
    std::vector<float> rows(static_cast<std::size_t>(ranks * p.count));
    if (c) {
      const auto found = c->per_rank.find(p.name);
      if (found == c->per_rank.end() || found->second.values.size() != rows.size())
        throw DataError("The checkpoint '" + c->path + "' has no '" + p.name + "' of each rank. Use the build that wrote it.");
      rows = found->second.values;
    }
    broadcast(parts_.control, rows);
    const at::Tensor all = at::from_blob(rows.data(), {ranks, p.count}, at::kFloat);
    at::Tensor own = all.select(0, ranks == parts_.control.size() ? parts_.control.rank() : 0).clone();
    if (ranks != parts_.control.size()) {
      for (std::int64_t r = 1; r < ranks; ++r) own.add_(all.select(0, r));
      own.div_(static_cast<double>(ranks));
    }
    p.value.detach().copy_(own.view(p.shape));
  }
}

void Checkpoints::resumed(std::span<Listener* const> listeners) {
  if (!resume_) return;
  for (Listener* listener : listeners) listener->restore(sections_);
  resume_->lost_s = parts_.clock.read().lost_s - lost_before_s_;
  parts_.recorder.update([&](result::RunRecord& r) { r.resumes.push_back(*resume_); });
}

bool Checkpoints::due(std::int64_t step) const {
  if (!writes_ || step == saved_step_) return false;
  const double every_s = parts_.recipe.train.checkpoint.every_s;
  // Of one rank's clock; the others hear of it when they agree.
  const bool late = every_s > 0 && parts_.control.rank() == 0 && now_s() - saved_s_ >= every_s;
  return late || (interval_ > 0 && step % interval_ == 0);
}

void Checkpoints::save(const Position& at, std::span<Listener* const> listeners, const std::string& signal) {
  if (!writes_) return;
  saved_s_ = now_s(), saved_step_ = at.step;
  comm::Communicator& comm = parts_.control;
  CheckpointState state{.run_id = parts_.run_id, .step = at.step, .images = at.images, .ranks = comm.size(), .signal = signal,
                        .saved_unix_s = unix_s(), .clocks = parts_.clock.read()};
  finish();
  result::StepSeries later = parts_.recorder.steps_from(seen_);
  seen_ += later.size();
  result::reduce_over_ranks(
      later, comm.size(), [&](double* data, std::size_t n) { comm.all_reduce_max(data, n); },
      [&](double* data, std::size_t n) { comm.all_reduce_sum(data, n); });
  for (Listener* listener : listeners) listener->save(state.sections);
  std::vector<std::string> per_rank = gather_per_rank();
  if (!folder_) return;
  stage(std::move(per_rank));
  state.recipe = result::fields_json(parts_.recipe);
  state.data = parts_.data;
  state.past = parts_.recorder.past();
  sample_ = {.step = at.step, .wall_s = state.clocks.run_s};
  writing_ = std::async(std::launch::async, [this, state = std::move(state), later = std::move(later)]() mutable { return write(std::move(state), later); });
  sample_.stall_s = now_s() - saved_s_;
}

std::vector<std::string> Checkpoints::gather_per_rank() const {
  if (!buffers_per_rank() || parts_.control.size() == 1) return {};
  std::string own;
  for (const Parameter& p : parts_.parameters.all()) {
    if (!p.buffer) continue;
    const at::Tensor host = p.value.detach().to(at::kCPU).contiguous();
    own.append(static_cast<const char*>(host.const_data_ptr()), static_cast<std::size_t>(host.nbytes()));
  }
  return parts_.control.gather(own, 0);
}

void Checkpoints::stage(std::vector<std::string> per_rank) {
  model::ParameterStore& store = parts_.parameters;
  const std::int64_t flat = store.flat_values().numel();
  copy_into(weights_.data(), store.flat_values(), {flat});
  copy_into(momentum_.data(), parts_.optimizer.momentum(), {flat});
  float* fixed = fixed_.data();
  for (const Parameter& p : store.all()) {
    if (p.trainable) continue;
    copy_into(fixed, p.value, p.shape);
    fixed += p.count;
  }
  per_rank_ = std::move(per_rank);
}

Checkpoints::Outcome Checkpoints::write(CheckpointState state, const result::StepSeries& later) {
  Outcome outcome;
  const double begin = now_s();
  try {
    steps_.append(later);
    state.steps = steps_;
    const std::uint64_t datasets = 32 + 3 * layout_.size();
    const std::uint64_t about_bytes = (weights_.size() + momentum_.size() + fixed_.size() * (1 + per_rank_.size())) * sizeof(float) +
                                      steps_.size() * 15 * sizeof(double) + datasets * kBytesPerDataset;
    outcome.bytes = write_checkpoint(folder_->path_of(state.step).string(), state, about_bytes, [this](const AddArray& add) { add_arrays(add); });
    folder_->prune(parts_.recipe.train.checkpoint.keep);
  } catch (const std::exception& e) {
    outcome.error = e.what();
  }
  outcome.write_s = now_s() - begin;
  return outcome;
}

void Checkpoints::add_arrays(const AddArray& add) const {
  const float* fixed = fixed_.data();
  std::size_t per_rank_at = 0;
  std::vector<float> rows;
  for (const Parameter& p : layout_) {
    const Dims dims = dims_of(p.file_shape);
    if (p.trainable) {
      add("/weights/" + p.name, in_file_order(p, weights_.data() + p.offset, scratch_), dims);
      add("/momentum/" + p.name, in_file_order(p, momentum_.data() + p.offset, scratch_), dims);
      continue;
    }
    add("/weights/" + p.name, {fixed, static_cast<std::size_t>(p.count)}, dims);
    fixed += p.count;
    if (!p.buffer || per_rank_.empty()) continue;
    rows.clear();
    const std::size_t bytes = static_cast<std::size_t>(p.count) * sizeof(float);
    for (const std::string& rank : per_rank_) {
      rows.resize(rows.size() + static_cast<std::size_t>(p.count));
      std::memcpy(rows.data() + rows.size() - static_cast<std::size_t>(p.count), rank.data() + per_rank_at, bytes);
    }
    per_rank_at += bytes;
    Dims all = {per_rank_.size()};
    all.insert(all.end(), dims.begin(), dims.end());
    add("/per_rank/" + p.name, rows, all);
  }
}

void Checkpoints::finish() {
  if (!writing_.valid()) return;
  const Outcome outcome = writing_.get();
  if (outcome.error.empty()) {
    sample_.write_s = outcome.write_s, sample_.bytes = outcome.bytes;
    parts_.recorder.checkpoint(sample_);
  } else if (!failed_) {
    const auto there = folder_->list();
    warn("The checkpoint of step " + std::to_string(sample_.step) + " was not written: " + outcome.error + " The run goes on, " +
         (there.empty() ? std::string("without any checkpoint.") : "with " + there.back().filename().string() + " as the newest checkpoint."));
  }
  failed_ = !outcome.error.empty();
}

std::optional<result::Interruption> Checkpoints::interrupt(const Position& at, std::span<Listener* const> listeners, const std::string& signal) {
  save(at, listeners, signal);
  finish();
  std::string newest;
  if (folder_ && !folder_->list().empty()) newest = folder_->list().back().filename().string();
  newest = comm::broadcast_text(parts_.control, newest);
  if (newest.empty()) return std::nullopt;
  const result::Interruption interruption{.signal = signal, .step = at.step, .checkpoint = newest, .requeue = signal == "SIGUSR1"};
  if (interruption.requeue && folder_) folder_->request_requeue(parts_.run_id + " " + newest);
  parts_.recorder.update([&](result::RunRecord& r) { r.interrupted = interruption; });
  return interruption;
}

}  // namespace ttt::train
