// Collects a run's record while it runs. Every rank has one; all calls may come from any thread.
//
// With a journal (start_journal) each sample is also appended to a rank-local file at once. A killed job so leaves
// evidence, from which recover_run() makes a result.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "result/journal.h"
#include "result/run_record.h"

namespace ttt::result {

class RunRecorder {
 public:
  explicit RunRecorder(RunRecord initial = {}) : record_(std::move(initial)) {}

  // Static facts (target, built, data, system): `change` edits the record under the lock; the journal is told. Throws
  // Incorrect, and changes nothing, for a number that is not finite.
  void update(const std::function<void(RunRecord&)>& change);

  // One step's sample, as soon as its numbers are on the host; steps may be late but in order. A sample with a number
  // that is not finite is kept under `non_finite` instead of the series. Returns false for such a sample.
  bool step(const StepSample& sample);
  bool evaluation(const Evaluation& evaluation);
  void checkpoint(const CheckpointSample& sample);
  void event(const Event& event);
  // After update() has set RunRecord::telemetry to a series of these groups.
  bool telemetry(const TelemetrySample& sample);
  void pictures(std::int64_t step, double cost_s);  // of evaluation images, made after so many steps
  void warn(const std::string& warning);            // each text once
  void clocks(const Clocks& clocks);
  void finish(Verdict verdict, const std::string& reason);

  // Collective over ranks; see reduce_over_ranks(). Not while another thread adds steps. What restore() brought is
  // reduced already.
  template <class Max, class Sum> void reduce(int world_size, Max&& max, Sum&& sum) {
    StepSeries series = steps_from(restored_);
    reduce_over_ranks(series, world_size, max, sum);
    const std::lock_guard lock(mutex_);
    StepSeries past = std::move(record_.steps);
    past.truncate(restored_);
    past.append(series);
    past.step_ranks = series.step_ranks, past.phase_ranks = series.phase_ranks, past.loss_ranks = series.loss_ranks;
    record_.steps = std::move(past);
  }

  RunRecord snapshot() const;
  // What a run that resumes from here needs of this one's record, apart from its steps: evaluations, numbers that were
  // not finite, warnings, checkpoints, resumes.
  RunRecord past() const;
  StepSeries steps_from(std::size_t first) const;
  // The samples of the run that this one resumes, before its own: all that past() gives, and steps that are
  // reduced over ranks.
  void restore(const RunRecord& past);

  // `<result path>.journal/rank00000.jsonl`. A journal that cannot be written costs a warning, never the run.
  void start_journal(const std::filesystem::path& folder, int rank);
  // Removes this rank's journal: the result holds everything that it held.
  void discard_journal();

 private:
  mutable std::mutex mutex_;
  RunRecord record_;
  std::unique_ptr<Journal> journal_;
  std::size_t restored_ = 0;  // steps that restore() brought

  // Files the numbers of a sample that are not finite; false where there were any.
  template <class Sample> bool keep_finite(const Sample& sample, const std::string& prefix);
  bool keep_if_finite(std::int64_t step, const std::string& name, double value);  // mutex_ is held
  void log(const Json& line);                                                     // mutex_ is held
  void warn_locked(const std::string& warning);
};

}  // namespace ttt::result
