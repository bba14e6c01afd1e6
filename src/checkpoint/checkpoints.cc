#include "checkpoint/checkpoints.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/clock.h"

namespace ttt::train {
namespace {

using data::h5::Dims;
using model::Parameter;

// Of HDF5's own structures for one dataset, generously.
constexpr std::uint64_t kBytesPerDataset = 2048;

Dims dims_of(const std::vector<std::int64_t>& shape) { return {shape.begin(), shape.end()}; }

void copy_into(float* target, const at::Tensor& source, at::IntArrayRef shape) {
  at::from_blob(target, shape, at::kFloat).copy_(source.detach());
}

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

}  // namespace

Checkpoints::Checkpoints(CheckpointParts parts, Earlier earlier)
    : parts_(std::move(parts)), folder_(std::move(earlier.folder)) {
  const CheckpointConfig& config = parts_.config;
  writes_ = !config.folder.empty();
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
    layout_.back().value = at::Tensor();
  }
  weights_.resize(static_cast<std::size_t>(parts_.parameters.flat_values().numel()));
  for (const NamedTensor& t : parts_.optimizer.state())
    optimizer_.push_back(
        {t.name, dims_of(t.value.sizes().vec()), std::vector<float>(static_cast<std::size_t>(t.value.numel()))});
  fixed_.resize(static_cast<std::size_t>(fixed));
  scratch_.resize(static_cast<std::size_t>(longest));
}

void Checkpoints::warn(const std::string& sentence) {
  parts_.recorder.warn(sentence);
  if (parts_.warn) parts_.warn(sentence);
}

bool Checkpoints::due(std::int64_t step) const {
  if (!writes_ || step == saved_step_) return false;
  const double every_s = parts_.config.every_s, every_epochs = parts_.config.every_epochs;
  // Of one rank's clock; the others hear of it when they agree.
  const bool late = every_s > 0 && parts_.control.rank() == 0 && now_s() - saved_s_ >= every_s;
  return late || (every_epochs > 0 && parts_.epochs.is_multiple(step, every_epochs));
}

void Checkpoints::save(const Position& at, std::span<Listener* const> listeners, const std::string& signal) {
  if (!writes_) return;
  saved_s_ = now_s(), saved_step_ = at.step;
  comm::Communicator& comm = parts_.control;
  CheckpointState state{.run_id = parts_.run_id,
      .step = at.step,
      .images = at.images,
      .ranks = comm.size(),
      .signal = signal,
      .saved_unix_s = unix_s(),
      .clocks = parts_.clock.read()};
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
  state.recipe = parts_.recipe;
  state.data = parts_.data;
  state.past = parts_.recorder.past();
  sample_ = {.step = at.step, .wall_s = state.clocks.run_s};
  writing_ = std::async(std::launch::async,
      [this, state = std::move(state), later = std::move(later)]() mutable { return write(std::move(state), later); });
  sample_.stall_s = now_s() - saved_s_;
}

std::vector<std::string> Checkpoints::gather_per_rank() const {
  if (!parts_.buffers_per_rank || parts_.control.size() == 1) return {};
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
  const std::vector<NamedTensor> state = parts_.optimizer.state();
  for (std::size_t i = 0; i < state.size(); ++i)
    copy_into(optimizer_[i].values.data(), state[i].value, state[i].value.sizes());
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
    const std::uint64_t datasets = 32 + (2 + optimizer_.size()) * layout_.size();
    std::uint64_t state_floats = 0;
    for (const Staged& s : optimizer_) state_floats += s.values.size();
    const std::uint64_t about_bytes =
        (weights_.size() + state_floats + fixed_.size() * (1 + per_rank_.size())) * sizeof(float) +
        steps_.size() * 15 * sizeof(double) + datasets * kBytesPerDataset;
    outcome.bytes = write_checkpoint(
        folder_->path_of(state.step).string(), state, about_bytes, [this](const AddArray& add) { add_arrays(add); });
    folder_->prune(parts_.config.keep);
  } catch (const std::exception& e) { outcome.error = e.what(); }
  outcome.write_s = now_s() - begin;
  return outcome;
}

void Checkpoints::add_arrays(const AddArray& add) const {
  const float* fixed = fixed_.data();
  const auto is_flat = [&](const Staged& s) { return s.dims == Dims{weights_.size()}; };
  for (const Staged& s : optimizer_)
    if (!is_flat(s)) add("/optimizer/" + s.name, s.values, s.dims);
  std::size_t per_rank_at = 0;
  std::vector<float> rows;
  for (const Parameter& p : layout_) {
    const Dims dims = dims_of(p.file_shape);
    if (p.trainable) {
      add("/weights/" + p.name, in_file_order(p, weights_.data() + p.offset, scratch_), dims);
      for (const Staged& s : optimizer_)
        if (is_flat(s))
          add("/optimizer/" + s.name + "/" + p.name, in_file_order(p, s.values.data() + p.offset, scratch_), dims);
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
    warn("The checkpoint of step " + std::to_string(sample_.step) + " was not written: " + outcome.error +
         " The run continues, " +
         (there.empty() ? std::string("without any checkpoint.")
                        : "with " + there.back().filename().string() + " as the newest checkpoint."));
  }
  failed_ = !outcome.error.empty();
}

std::optional<result::Interruption> Checkpoints::interrupt(
    const Position& at, std::span<Listener* const> listeners, const std::string& signal) {
  save(at, listeners, signal);
  finish();
  std::string newest;
  if (folder_ && !folder_->list().empty()) newest = folder_->list().back().filename().string();
  newest = comm::broadcast_text(parts_.control, newest);
  if (newest.empty()) return std::nullopt;
  const result::Interruption interruption{
      .signal = signal, .step = at.step, .checkpoint = newest, .requeue = signal == "SIGUSR1"};
  if (interruption.requeue && folder_) folder_->request_requeue(parts_.run_id + " " + newest);
  parts_.recorder.update([&](result::RunRecord& r) { r.interrupted = interruption; });
  return interruption;
}

}  // namespace ttt::train
