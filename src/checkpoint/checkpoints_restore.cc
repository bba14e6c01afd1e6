#include "checkpoint/checkpoints.h"

#include <ATen/ops/from_blob.h>

#include "core/clock.h"
#include "core/error.h"
#include "result/provenance.h"

namespace ttt::train {
namespace {

using data::h5::Dims;
using model::Parameter;

const CheckpointArray& array_of(const std::map<std::string, CheckpointArray>& arrays, const std::string& key, at::IntArrayRef shape, const std::string& path,
                                const std::string& kind) {
  const auto found = arrays.find(key);
  if (found == arrays.end() || found->second.dims != Dims(shape.begin(), shape.end()))
    throw DataError("The checkpoint '" + path + "' has no " + kind + " in this model's shape. Use the build that wrote it.");
  return found->second;
}

at::Tensor tensor_of(const CheckpointArray& a) {
  return at::from_blob(const_cast<float*>(a.values.data()), std::vector<std::int64_t>(a.dims.begin(), a.dims.end()), at::kFloat);
}

void restore_optimizer(const NamedTensor& t, const model::ParameterStore& store, const Checkpoint& c) {
  if (t.value.sizes() != store.flat_values().sizes()) {
    t.value.copy_(tensor_of(array_of(c.optimizer, t.name, t.value.sizes(), c.path, t.name)));
    return;
  }
  for (const Parameter* p : store.trainable())
    store.view_of(t.value, *p).copy_(tensor_of(array_of(c.optimizer, t.name + "/" + p->name, p->file_shape, c.path, t.name + " of '" + p->name + "'")).view(p->shape));
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

void Checkpoints::check(const Checkpoint& c) {
  resume_->changed = changed_settings(c.state.recipe, parts_.recipe, c.path);
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
  const std::vector<NamedTensor> state = parts_.optimizer.state();
  if (c) {
    for (Parameter& p : store.all()) store.from_file(p, tensor_of(array_of(c->weights, p.name, p.file_shape, c->path, "weights of '" + p.name + "'")), c->path);
    for (const NamedTensor& t : state) restore_optimizer(t, store, *c);
  }
  broadcast(parts_.control, store.flat_values());
  for (const NamedTensor& t : state) broadcast(parts_.control, t.value);
  for (Parameter& p : store.all())
    if (!p.trainable) broadcast(parts_.control, p.value);
}

// Each rank gets its own again, or on another number of ranks all get the mean, as in an evaluation.
void Checkpoints::restore_per_rank(const Checkpoint* c) {
  const std::int64_t ranks = resume_->ranks_before;
  if (!parts_.buffers_per_rank || ranks == 1) return;
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

}  // namespace ttt::train
