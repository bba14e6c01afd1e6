#include "measure/operation_arm.h"

#include <ATen/Parallel.h>

#include <numeric>

#include "core/allocator.h"
#include "core/error.h"
#include "measure/train_arm.h"

namespace ttt::ablations {
namespace {

// Rank 0's values on every rank.
std::map<std::string, double> on_every_rank(const std::map<std::string, double>& mine, comm::Communicator& comm) {
  std::string text = result::Json(mine).dump();
  std::uint64_t size = text.size();
  comm.broadcast(&size, sizeof size, 0);
  text.resize(size);
  comm.broadcast(text.data(), size, 0);
  return result::Json::parse(text).get<std::map<std::string, double>>();
}

}  // namespace

OperationArm::OperationArm(const Bench& bench, Operation operation)
    : control_(bench.world.communicator()), operation_(std::move(operation)),
      threads_(threads_of_rank(bench.recipe.train.threads, bench.world.team())) {
  if (bench.recipe.train.keep_memory) keep_freed_memory();  // as a training rank does
}

std::vector<double> OperationArm::block(int steps) {
  at::set_num_threads(threads_);
  std::vector<double> seconds;
  control_->barrier();
  const Usage before = Usage::now();
  for (int i = 0; i < steps; ++i) {
    const double start_s = now_s();
    operation_.run(done_++);
    seconds.push_back(now_s() - start_s);
  }
  usage_ += Usage::now() - before;
  counted_ += steps;
  const std::vector<double> outputs = operation_.outputs();
  outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
  ++turns_;
  std::partial_sum(seconds.begin(), seconds.end(), seconds.begin());
  control_->all_reduce_max(seconds.data(), seconds.size());
  std::adjacent_difference(seconds.begin(), seconds.end(), seconds.begin());
  return seconds;
}

Counters OperationArm::operators(int steps) {
  return sum_over_ranks(operators_of(steps, [&] { block(steps); }), *control_);
}

AloneArm::AloneArm(const Bench& bench) : control_(bench.world.communicator()) {
  if (control_->rank() == 0) inner_ = std::make_unique<TrainArm>(bench, Variant{.name = "alone"}, comm::alone());
}

std::vector<double> AloneArm::block(int steps) {
  control_->barrier();
  std::vector<double> seconds(static_cast<std::size_t>(steps));
  std::string error;
  if (inner_) try {
      seconds = inner_->block(steps);
    } catch (const Incorrect& e) {  // all ranks must hear of it
      error = e.what();
    }
  seconds.push_back(error.empty() ? 0 : 1);
  control_->all_reduce_max(seconds.data(), seconds.size());
  if (seconds.back() > 0)
    throw Incorrect(error.empty() ? "The rank that trains alone has a loss that is not finite." : error);
  seconds.pop_back();
  phases_.assign(static_cast<std::size_t>(steps), {});
  if (inner_) phases_ = inner_->phases();
  control_->broadcast(phases_.data(), phases_.size() * sizeof phases_.front(), 0);
  return seconds;
}

result::Json AloneArm::describe() const {
  result::Json built = inner_ ? inner_->describe() : result::Json::object();
  built["ranks_that_train"] = 1;
  return built;
}

const std::vector<double>& AloneArm::outputs() const { return inner_ ? inner_->outputs() : none_; }
std::string AloneArm::place_of(std::size_t output) const { return inner_ ? inner_->place_of(output) : ""; }

void AloneArm::start_counting() {
  if (inner_) inner_->start_counting();
}

// Those who stand by have nothing to add, under the same names.
Counters AloneArm::usage() {
  Counters all = on_every_rank(inner_ ? inner_->usage() : Counters(), *control_);
  all.erase("straggler_index");  // of one rank
  return all;
}

Counters AloneArm::operators(int steps) {
  return on_every_rank(inner_ ? inner_->operators(steps) : Counters(), *control_);
}

}  // namespace ttt::ablations
