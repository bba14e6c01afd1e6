// A run's MLPerf log: its header before the clock starts, then a line or more for each event.
#pragma once

#include <vector>

#include "mlperf/rules.h"
#include "result/event_log.h"
#include "result/mllog.h"

namespace ttt::train {

class MlperfLog {
 public:
  // Writes the header: who and what, the seed, the hyper-parameters, and each relaxed rule. `start_ms`: start of the
  // program, since the Unix epoch. Throws UsageError where the file exists and `force` is false, or where it cannot be
  // written.
  MlperfLog(const std::filesystem::path& path, bool force, const RunFacts& facts, const std::vector<Breach>& relaxed,
      std::int64_t start_ms);

  // False once the file could no longer be written.
  bool event(const result::Event& event);
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  using Json = result::Json;
  void put(std::int64_t time_ms, result::MllogType type, const char* key, Json value = {},
      Json metadata = Json::object(), std::source_location where = std::source_location::current());
  void point(
      std::int64_t time_ms, const char* key, Json value, std::source_location where = std::source_location::current());
  void submission(const RunFacts& facts, std::int64_t start_ms);
  void hyper_parameters(const RunFacts& facts, std::int64_t time_ms);
  void relaxed_rules(const std::vector<Breach>& relaxed, std::int64_t time_ms);
  void run_start(const result::Event& event);
  void epoch_start(const result::Event& event);
  void epoch_stop(const result::Event& event);
  void evaluation_stop(const result::Event& event);

  result::MllogFile file_;
  bool whole_ = true;
  std::int64_t train_images_, eval_images_;
  bool eval_samples_written_ = false;
  double epoch_start_s_ = 0;
};

}  // namespace ttt::train
