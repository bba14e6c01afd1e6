// Series of MLPerf logs and of published results.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/numbers.h"
#include "reports/series.h"
#include "result/members.h"
#include "result/mlperf_limits.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::MllogRecord;

const MllogRecord* first(const result::MllogText& log, const char* key) {
  const auto it =
      std::find_if(log.records.begin(), log.records.end(), [&](const MllogRecord& r) { return r.key == key; });
  return it == log.records.end() ? nullptr : &*it;
}

std::string text_of(const result::MllogText& log, const char* key) {
  const MllogRecord* r = first(log, key);
  if (!r) return "-";
  return r->value.is_string() ? r->value.get<std::string>() : r->value.dump();
}

std::optional<double> number_of(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return std::nullopt;
  return object[key].get<double>();
}

// Of a run_stop that says success: the epoch of the last evaluation before it, as the checker of convergence points
// counts.
Attempt attempt_of(const NamedLog& named) {
  const result::MllogText& log = named.log;
  const MllogRecord *start = first(log, "run_start"), *init = first(log, "init_start");
  if (!start)
    throw DataError("'" + named.name +
                    "' has no run_start: it is no MLPerf log of a run. Name the result_*.txt of a submission, or a "
                    ".mllog.txt beside a result.");
  Attempt a{.name = named.name,
      .verdict = "no run_stop",
      .seed = text_of(log, "seed"),
      .started = fixed("%020.3f", start->time_ms)};
  std::optional<double> evaluated;
  double finished = 0;
  std::vector<double> rates;
  for (const MllogRecord& r : log.records) {
    if (r.key == "eval_accuracy") evaluated = number_of(r.metadata, "epoch_num");
    if (r.key == "epoch_stop") ++finished;
    if (r.key == "throughput" && r.value.is_number()) rates.push_back(r.value.get<double>());
    if (r.key != "run_stop") continue;
    const bool says = r.metadata.is_object() && r.metadata.contains("status") && r.metadata["status"].is_string();
    a.verdict = says ? r.metadata["status"].get<std::string>() : "no status";
    if (a.verdict != "success") continue;
    a.run_s = (r.time_ms - start->time_ms) / 1e3;
    if (init) a.whole_s = (r.time_ms - init->time_ms) / 1e3;
    a.rated_epochs = evaluated;
  }
  a.epochs = finished;
  if (!rates.empty()) a.images_per_s = median(rates);
  return a;
}

std::string why_no_reference(const result::MllogText& log) {
  if (text_of(log, "submission_benchmark") != "maskrcnn") return "it is no log of maskrcnn (submission_benchmark)";
  if (text_of(log, "submission_division") != "closed")
    return "it is no log of the closed division (submission_division)";
  if (const MllogRecord* r = first(log, "relaxed_rule"))
    return "it breaks rules of the closed division that were relaxed by name, first " + r->value.dump();
  return "";
}

// A column of the runs; none where the source does not tell. Throws DataError where it has another length.
std::vector<std::optional<double>> column(
    const Json& system, const char* key, std::size_t size, const std::string& path) {
  if (!system.contains(key)) return std::vector<std::optional<double>>(size);
  const std::vector<double> list = result::get_list<double>(system, key, path);
  if (list.size() != size)
    throw DataError("'" + path + "." + key + "' has not one entry for each run. Take the original file.");
  return {list.begin(), list.end()};
}

Series published_series(const Json& system, const std::string& path, const std::string& name) {
  using result::get;
  const auto submitter = get<std::string>(system, "submitter", path), called = get<std::string>(system, "system", path);
  Series s{.title = submitter + " " + called,
      .system = submitter + " " + called,
      .accelerator = get<std::string>(system, "accelerator", path),
      .accelerators = get<double>(system, "accelerators", path)};
  if (system.contains("global_batch")) s.global_batch = get<double>(system, "global_batch", path);
  if (get<std::string>(system, "division", path) != "closed") s.no_reference = "it is no result of the closed division";
  const std::vector<std::string> status = result::get_list<std::string>(system, "status", path);
  const std::size_t runs = status.size();
  const auto epochs = column(system, "epochs", runs, path), minutes = column(system, "run_min", runs, path),
             init = column(system, "init_s", runs, path), rate = column(system, "images_per_s", runs, path);
  for (std::size_t i = 0; i < runs; ++i) {
    Attempt a{.name = name + ", run " + std::to_string(i),
        .verdict = status[i],
        .started = fixed("%06zu", i),
        .epochs = epochs[i],
        .images_per_s = rate[i]};
    if (a.verdict == "success" && !minutes[i])
      throw DataError("'" + path + ".run_min' is missing. Take the original file.");
    if (a.verdict == "success") {
      a.run_s = 60 * *minutes[i];
      if (init[i]) a.whole_s = a.run_s + *init[i];
      a.rated_epochs = a.epochs;
    }
    s.attempts.push_back(std::move(a));
  }
  if (runs == 0) throw DataError("'" + path + ".status' is empty. Take the original file.");
  return s;
}

}  // namespace

std::vector<Series> series_of_logs(const std::vector<NamedLog>& logs) {
  std::map<std::vector<std::string>, Series> all;
  for (const NamedLog& l : logs) {
    const auto of = [&](const char* key) { return text_of(l.log, key); };
    // What a submission's runs share; everything else may differ.
    const std::vector<std::string> who = {of("submission_org"), of("submission_platform"), of("submission_division"),
        of("submission_benchmark"), of("global_batch_size"), of("opt_base_learning_rate")};
    Series& s = all[who];
    s.system = who[0] + " " + who[1];
    s.title = s.system + ", " + who[2] + " division, global batch " + who[4];
    if (const MllogRecord* batch = first(l.log, "global_batch_size"); batch && batch->value.is_number())
      s.global_batch = batch->value.get<double>();
    if (s.no_reference.empty()) s.no_reference = why_no_reference(l.log);
    s.attempts.push_back(attempt_of(l));
  }
  std::vector<Series> out;
  for (auto& [who, s] : all) {
    sort_by_time(s);
    out.push_back(std::move(s));
  }
  return out;
}

bool is_published(const Json& document) { return document.is_object() && document.contains("published_results"); }

std::vector<Series> series_of_published(const Json& document, const std::string& name) {
  std::vector<Series> all;
  for (const Json& system : result::get_array(document, "systems", name))
    all.push_back(published_series(system, name + ": systems[" + std::to_string(all.size()) + "]", name));
  return all;
}

}  // namespace ttt::reports
