#include "faults/inject.h"

#include <ATen/ops/empty.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "faults/full_disk.h"

namespace ttt::train {
namespace {

void sleep_s(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

[[noreturn]] void hang() {
  for (;;) sleep_s(3600);
}

void announce(const Fault& fault, const std::string& where) {
  std::fprintf(stderr, "injected: %s strikes %s\n", fault_text(fault).c_str(), where.c_str());
  std::fflush(stderr);
}

// A step that takes longer, or whose images are not numbers.
class FaultyStep final : public Step {
 public:
  FaultyStep(std::unique_ptr<Step> inner, std::vector<Fault> faults, const std::int64_t& now)
      : inner_(std::move(inner)), faults_(std::move(faults)), now_(now) {}

  std::vector<Stage> stages(StepState& s) override {
    std::vector<Stage> all = inner_->stages(s);
    for (Stage& stage : all) stage.not_capturable = "a fault is to strike in one of its steps (--inject)";
    // Before the gradients are on their way, so that the others wait.
    all.front().run = [this, &s, run = all.front().run](const Keep& keep) {
      for (const Fault& f : faults_)
        if (f.kind == FaultKind::kNan && f.step == now_) spoil(s.inputs.batch.images);
      strike_slow();
      start_s_ = now_s();
      run(keep);
    };
    all.back().run = [this, run = all.back().run](const Keep& keep) {
      run(keep);
      last_s_ = now_s() - start_s_;
    };
    return all;
  }
  std::int64_t parts() const override { return inner_->parts(); }
  result::Json describe() const override { return inner_->describe(); }

 private:
  void strike_slow() const {
    for (const Fault& f : faults_)  // a factor is of the step before
      if (f.kind == FaultKind::kSlow && now_ >= f.step && f.step >= 0)
        sleep_s(f.factor > 0 ? (f.factor - 1) * last_s_ : f.ms * 1e-3);
  }
  static void spoil(at::Tensor& images) {
    images = images.clone();
    images.fill_(std::numeric_limits<float>::quiet_NaN());
  }

  std::unique_ptr<Step> inner_;
  std::vector<Fault> faults_;
  const std::int64_t& now_;  // -1: no fault strikes
  double start_s_ = 0, last_s_ = 0;
};

// One bit of the sum over ranks is another on this rank: of the greatest gradient, so that no rounding hides it.
class CorruptReducer final : public Reducer {
 public:
  CorruptReducer(
      std::unique_ptr<Reducer> inner, std::span<float> gradients, std::vector<Fault> faults, const std::int64_t& now)
      : inner_(std::move(inner)), gradients_(gradients), faults_(std::move(faults)), now_(now) {}
  void ready(std::size_t parameter) override { inner_->ready(parameter); }
  void launch() override { inner_->launch(); }
  void finish() override {
    inner_->finish();
    for (const Fault& f : faults_)
      if (f.step == now_) flip(f);
  }
  ReducerTraits traits() const override {
    return {.overlaps_backward = inner_->traits().overlaps_backward,
        .not_capturable = "a fault is to strike in the gradients of a step (--inject)"};
  }
  result::Json describe() const override { return inner_->describe(); }

 private:
  void flip(const Fault& f) {
    float& victim = *std::max_element(
        gradients_.begin(), gradients_.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    announce(f, "in the reduced gradient of step " + std::to_string(now_));
    victim = std::bit_cast<float>(std::bit_cast<std::uint32_t>(victim) ^ (std::uint32_t{1} << f.bit));
  }

  std::unique_ptr<Reducer> inner_;
  std::span<float> gradients_;
  std::vector<Fault> faults_;
  const std::int64_t& now_;
};

// The worker that makes this batch stays in the call, as it would in a read that never returns. A loader asks for each
// batch twice: ahead of time, to announce what it will read, and when it makes the batch.
class HangingOrder final : public data::BatchOrder {
 public:
  HangingOrder(std::shared_ptr<const data::BatchOrder> inner, const Fault& fault)
      : inner_(std::move(inner)), fault_(fault) {}
  std::int64_t batches() const override { return inner_->batches(); }
  std::int64_t most_per_rank() const override { return inner_->most_per_rank(); }
  data::BatchPlan at(std::int64_t batch) const override {
    if (batch == fault_.step && ++asked_ == 2) {
      announce(fault_, "in the loader");
      hang();
    }
    return inner_->at(batch);
  }

 private:
  std::shared_ptr<const data::BatchOrder> inner_;
  Fault fault_;
  mutable std::atomic<int> asked_ = 0;
};

}  // namespace

Injector::Injector(const std::vector<Fault>& faults, int rank, const Epochs& epochs) : rank_(rank) {
  for (Fault f : faults) {
    if (f.rank != rank) continue;
    if (f.step < 0) f.step = epochs.steps_before(f.in_evaluation ? f.epoch : f.epoch - 1);
    faults_.push_back(f);
  }
}

void Injector::plant(Parts& parts) {
  std::vector<Fault> of_step, of_gradients;
  for (const Fault& f : faults_) {
    if (f.kind == FaultKind::kNan || f.kind == FaultKind::kSlow) of_step.push_back(f);
    if (f.kind == FaultKind::kCorrupt) of_gradients.push_back(f);
  }
  if (!of_step.empty()) parts.step = std::make_unique<FaultyStep>(std::move(parts.step), of_step, step_);
  if (of_gradients.empty()) return;
  at::Tensor& flat = parts.model->parameters().flat_gradients();
  if (!flat.is_cpu())
    throw NotSupported("--inject kind=corrupt changes gradients in host memory, and this run's are on " +
                       flat.device().str() + ". Try it with --device cpu.");
  const std::span<float> gradients(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  parts.set_reducer(std::make_unique<CorruptReducer>(std::move(parts.reducer), gradients, of_gradients, step_));
}

std::shared_ptr<const data::BatchOrder> Injector::hanging(std::shared_ptr<const data::BatchOrder> order) const {
  for (const Fault& f : faults_)
    if (f.kind == FaultKind::kHangLoader) return std::make_shared<HangingOrder>(std::move(order), f);
  return nullptr;
}

void Injector::step_starts(const Position& at) {
  if (!armed_) return;
  step_ = at.step;
  for (const Fault& f : faults_)
    if (!f.in_evaluation && f.step == at.step) strike(f, "at the start of step " + std::to_string(at.step));
}

void Injector::evaluation_started(const Position& at) {
  if (!armed_) return;
  std::vector<Fault> due;
  std::erase_if(faults_, [&](const Fault& f) {
    const bool now = f.in_evaluation && at.step >= f.step;
    if (now) due.push_back(f);
    return now;
  });
  for (const Fault& f : due) strike(f, "in the evaluation after " + std::to_string(at.step) + " steps");
}

void Injector::strike(const Fault& fault, const std::string& where) const {
  if (fault.kind == FaultKind::kHangLoader || fault.kind == FaultKind::kCorrupt) return;  // by their decorators
  announce(fault, where);
  switch (fault.kind) {
    case FaultKind::kKill: ::raise(SIGKILL); break;
    case FaultKind::kExit: ::_exit(3);
    case FaultKind::kSegfault: ::raise(SIGSEGV); break;
    case FaultKind::kStop: ::kill(::getpid(), SIGSTOP); break;
    case FaultKind::kHang: hang();
    case FaultKind::kThrow: throw std::runtime_error("a fault that was injected (" + fault_text(fault) + ")");
    case FaultKind::kOom: static_cast<void>(at::empty({std::int64_t{1} << 58})); break;  // the allocator's own refusal
    case FaultKind::kDiskFull: fill_disks(); break;
    case FaultKind::kSignalTwice:
      ::raise(fault.signal);
      sleep_s(1);
      [[fallthrough]];
    case FaultKind::kSignal: ::raise(fault.signal); break;
    default: break;  // kSlow, kNan: by the step's decorator, from here on
  }
}

}  // namespace ttt::train
