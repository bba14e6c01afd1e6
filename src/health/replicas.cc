#include "health/replicas.h"

#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "core/hash.h"
#include "health/replica_vote.h"

namespace ttt::train {
namespace {

std::uint64_t hash_floats(const float* values, std::int64_t count) {
  return hash64(std::as_bytes(std::span(values, static_cast<std::size_t>(count))));
}

// Whether all ranks have the same 64 bits: two exact halves, each with its negative, so that one maximum gives the
// minimum too.
bool equal_on_all(comm::Communicator& comm, std::uint64_t hash) {
  const auto high = static_cast<double>(hash >> 32), low = static_cast<double>(hash & 0xffffffffu);
  double extremes[4] = {high, low, -high, -low};
  comm.all_reduce_max(extremes, 4);
  return extremes[0] == -extremes[2] && extremes[1] == -extremes[3];
}

std::vector<std::uint64_t> unpack(const std::string& bytes) {
  std::vector<std::uint64_t> hashes(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(hashes.data(), bytes.data(), bytes.size());
  return hashes;
}

}  // namespace

ReplicaCheck::ReplicaCheck(std::int64_t every, model::ParameterStore& store, const Optimizer& optimizer,
    comm::Communicator& comm, result::RunRecorder& recorder, std::vector<std::string> nodes)
    : every_(every), store_(store), optimizer_(optimizer), comm_(comm), recorder_(recorder), nodes_(std::move(nodes)) {
  for (const model::Parameter& p : store.all())
    if (!p.buffer) weights_.push_back(&p);
}

void ReplicaCheck::step_ended(const Position& at, const result::StepSample&) {
  if (every_ > 0 && at.step % every_ == 0) check(at);
}

void ReplicaCheck::evaluation_started(const Position& at) {
  if (every_ > 0 && at.step != equal_at_) check(at);
}

std::vector<std::uint64_t> ReplicaCheck::hashes() const {
  const at::Tensor values = store_.flat_values().detach().cpu();
  std::vector<std::uint64_t> all;
  for (const model::Parameter* p : weights_) {
    if (p->trainable) {
      all.push_back(hash_floats(values.const_data_ptr<float>() + p->offset, p->count));
    } else {
      const at::Tensor frozen = p->value.detach().cpu().contiguous();
      all.push_back(hash_floats(frozen.const_data_ptr<float>(), frozen.numel()));
    }
  }
  for (const NamedTensor& t : optimizer_.state()) {
    const at::Tensor state = t.value.cpu().contiguous();
    const auto* data = state.const_data_ptr<float>();
    if (!is_flat(t)) all.push_back(hash_floats(data, state.numel()));
    else
      for (const model::Parameter* p : weights_)
        if (p->trainable) all.push_back(hash_floats(data + p->offset, p->count));
  }
  return all;
}

std::string ReplicaCheck::part_name(std::size_t part) const {
  if (part < weights_.size()) return weights_[part]->name;
  part -= weights_.size();
  for (const NamedTensor& t : optimizer_.state()) {
    if (!is_flat(t)) {
      if (part-- == 0) return "the optimizer's " + t.name;
      continue;
    }
    for (const model::Parameter* p : weights_)
      if (p->trainable && part-- == 0) return "the " + t.name + " of " + p->name;
  }
  throw Error("Replicas have more tensors than names. This is a bug.");
}

void ReplicaCheck::check(const Position& at) {
  const double start_s = now_s();
  const std::vector<std::uint64_t> own = hashes();
  const std::uint64_t whole = hash64(std::as_bytes(std::span(own)));
  hash_s_ += now_s() - start_s;
  const bool equal = equal_on_all(comm_, whole);
  total_s_ += now_s() - start_s;
  ++checks_;
  if (!equal)
    throw Incorrect("The replicas differ after step " + std::to_string(at.step - 1) + " (after " +
                    std::to_string(equal_at_) + " steps they were equal): " + describe(own) +
                    ". Look for a fault in that node's memory or network, or for a race in the reduction "
                    "(train.reducer.kind=blocking has none).");
  equal_at_ = at.step;
}

std::string ReplicaCheck::describe(const std::vector<std::uint64_t>& own) {
  const std::string bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(std::uint64_t));
  std::vector<std::vector<std::uint64_t>> all;
  for (const std::string& one : comm_.gather(bytes, 0)) all.push_back(unpack(one));
  std::string text;
  if (const auto d = find_disagreement(all)) {
    for (const int r : d->ranks)
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(r) + " (node " +
              nodes_.at(static_cast<std::size_t>(r)) + ")";
    text += d->majority ? " against the other " + std::to_string(all.size() - d->ranks.size()) + " ranks"
                        : " against rank 0, without a majority";
    text += ", first in " + part_name(d->first);
  }
  return comm::broadcast_text(comm_, text);
}

void ReplicaCheck::run_ended(const Ending&) {
  if (every_ == 0) return;
  std::int64_t count = 0;
  std::int64_t flat = 1;  // the weights, and each tensor of state in their layout
  for (const NamedTensor& t : optimizer_.state())
    if (is_flat(t)) ++flat;
    else count += t.value.numel();
  for (const model::Parameter* p : weights_) count += p->count * (p->trainable ? flat : 1);
  recorder_.update([&](result::RunRecord& record) {
    record.health.replica_checks = {
        every_, checks_, count * static_cast<std::int64_t>(sizeof(float)), hash_s_, total_s_};
  });
}

}  // namespace ttt::train
