#include "reports/mlperf_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "reports/numbers.h"
#include "result/mlperf_limits.h"

namespace ttt::reports {
namespace {

namespace limits = result::mlperf;
using result::Json;
using result::MllogRecord;

enum class Count { kOne, kSome, kAny, kOneOrTwin };  // kOneOrTwin: this key or its twin at least once

// What a rule may know of the lines before its own.
struct State {
  bool init_started = false, init_stopped = false, run_started = false;
  std::optional<double> first_init_ms;
  double init_minutes = limits::kInitMinutesClosed;
  std::optional<double> global_batch;
};

struct KeyRule {
  const char* key;
  Count count;
  const char* twin;      // of kOneOrTwin
  const char* expected;  // what `holds` asks, for people
  bool (*holds)(const MllogRecord&, const State&);
  bool first_only = false;  // later lines of the key are counted, not judged
};

// Numbers as Python compares them: true is 1.
std::optional<double> number_of(const Json& v) {
  if (v.is_boolean()) return v.get<bool>() ? 1 : 0;
  if (v.is_number()) return v.get<double>();
  return std::nullopt;
}
template <class Test> bool number(const Json& v, Test test) {
  const auto x = number_of(v);
  return x && test(*x);
}
bool has(const Json& object, const char* key) { return object.is_object() && object.contains(key); }
bool word(const Json& v, std::initializer_list<std::string_view> words) {
  return v.is_string() && std::find(words.begin(), words.end(), v.get<std::string>()) != words.end();
}

bool always(const MllogRecord&, const State&) { return true; }
bool not_empty(const MllogRecord& r, const State&) {
  return !(r.value.is_string() && r.value.get<std::string>().empty());
}
bool positive(const MllogRecord& r, const State&) {
  return number(r.value, [](double x) { return x > 0; });
}
bool not_negative(const MllogRecord& r, const State&) {
  return number(r.value, [](double x) { return x >= 0; });
}
bool epoch_or_step(const MllogRecord& r, const State&) {
  return has(r.metadata, "epoch_num") || has(r.metadata, "step_num");
}
bool epoch_number(const MllogRecord& r, const State&) { return has(r.metadata, "epoch_num"); }
bool before_the_run(const MllogRecord&, const State& s) { return !s.init_stopped && !s.run_started; }
bool init_in_time(const MllogRecord& r, const State& s) {
  return s.init_started && !s.run_started && r.time_ms - *s.first_init_ms < s.init_minutes * 60e3;
}
bool after_init(const MllogRecord&, const State& s) { return s.init_stopped; }
bool stop_with_status(const MllogRecord& r, const State& s) { return s.run_started && has(r.metadata, "status"); }
bool block_in_run(const MllogRecord& r, const State& s) {
  if (!s.run_started) return false;
  const bool epochs = has(r.metadata, "epoch_count"), steps = has(r.metadata, "step_num");
  if (!epochs && !steps) return false;
  if (epochs &&
      (!has(r.metadata, "first_epoch_num") || !number(r.metadata["epoch_count"], [](double x) { return x > 0; })))
    return false;
  return !steps || number(r.metadata["step_num"], [](double x) { return x >= 0; });
}
bool block_number(const MllogRecord& r, const State&) {
  return has(r.metadata, "first_epoch_num") || has(r.metadata, "step_num");
}
bool base_rate(const MllogRecord& r, const State& s) {
  return number(r.value, [&](double x) {
    return limits::is_integer(x / limits::kRateUnit) ||
           (s.global_batch && limits::base_rate_allowed(x, *s.global_batch));
  });
}
bool two_values(const MllogRecord& r, const State&) {
  return r.value.is_string() ? r.value.get<std::string>().size() == 2 : r.value.is_structured() && r.value.size() == 2;
}
bool both_accuracies(const MllogRecord& r, const State& s) {
  return has(r.value, "BBOX") && has(r.value, "SEGM") && number_of(r.value["BBOX"]) && number_of(r.value["SEGM"]) &&
         epoch_number(r, s);
}
bool benchmark(const MllogRecord& r, const State&) { return word(r.value, {"maskrcnn"}); }
bool division(const MllogRecord& r, const State&) { return word(r.value, {"closed", "open"}); }
bool status(const MllogRecord& r, const State&) { return word(r.value, {"cloud", "onprem", "preview", "research"}); }

constexpr KeyRule kCommon[] = {
    {"submission_org", Count::kOne, "", "a text that is not empty", not_empty, true},
    {"submission_platform", Count::kOne, "", "a text that is not empty", not_empty, true},
    {"submission_division", Count::kOne, "", "closed or open", division, true},
    {"submission_status", Count::kOne, "", "cloud, onprem, preview or research", status, true},
    {"submission_benchmark", Count::kOne, "", "maskrcnn, the one that is known here", benchmark, true},
    {"cache_clear", Count::kSome, "", "", always},
    {"init_start", Count::kSome, "", "a place before init_stop and run_start", before_the_run},
    {"init_stop", Count::kOne, "",
        "a place after init_start and before run_start, in time after the first init_start (30 minutes, open 240)",
        init_in_time},
    {"run_start", Count::kOne, "", "a place after init_stop", after_init},
    {"run_stop", Count::kOne, "", "a place after run_start, and metadata.status", stop_with_status},
    {"block_start", Count::kOneOrTwin, "epoch_start",
        "a place after run_start, and metadata.first_epoch_num with epoch_count > 0, or step_num >= 0", block_in_run},
    {"block_stop", Count::kOneOrTwin, "epoch_stop", "metadata.first_epoch_num or step_num", block_number},
    {"epoch_start", Count::kOneOrTwin, "block_start", "metadata.epoch_num", epoch_number},
    {"epoch_stop", Count::kOneOrTwin, "block_stop", "metadata.epoch_num", epoch_number},
    {"eval_start", Count::kOneOrTwin, "block_start", "metadata.epoch_num or step_num", epoch_or_step},
    {"eval_stop", Count::kOneOrTwin, "block_stop", "metadata.epoch_num or step_num", epoch_or_step},
    {"eval_accuracy", Count::kSome, "", "a value with numbers BBOX and SEGM, and metadata.epoch_num", both_accuracies},
    {"train_samples", Count::kOne, "", "a value that is not empty", not_empty},
    {"eval_samples", Count::kOne, "", "a value that is not empty", not_empty},
};
constexpr KeyRule kClosed[] = {
    {"gradient_accumulation_steps", Count::kOne, "", "a number above 0", positive},
    {"global_batch_size", Count::kOne, "", "a number above 0", positive},
    {"opt_base_learning_rate", Count::kOne, "",
        "a multiple of 0.02 or, where global_batch_size stands before it and is below 16, 0.02 / K", base_rate},
    {"opt_learning_rate_warmup_steps", Count::kOne, "", "a number of at least 0", not_negative},
    {"opt_learning_rate_warmup_factor", Count::kOne, "", "a number above 0", positive},
    {"num_image_candidates", Count::kOne, "", "a multiple of 1000",
        [](const MllogRecord& r, const State&) {
          return number(r.value, [](double x) { return limits::is_integer(x / 1000.0); });
        }},
    {"opt_learning_rate_decay_factor", Count::kOne, "", "0.1",
        [](const MllogRecord& r, const State&) {
          return number(r.value, [](double x) { return x == limits::kDecayFactor; });
        }},
    {"opt_learning_rate_decay_steps", Count::kOne, "", "a list of two", two_values},
    {"min_image_size", Count::kOne, "", "a number of at least 0", not_negative},
    {"max_image_size", Count::kOne, "", "a number of at least 0", not_negative},
};

class Checker {
 public:
  explicit Checker(const result::MllogText& log) : log_(log) {}

  LogVerdict run() {
    for (const result::MllogFault& f : log_.faults) fault(Judge::kCompliance, "line", f.line, f.reason);
    if (log_.records.empty()) fault(Judge::kCompliance, "log", 0, "holds no MLPerf log line");
    const std::string of = division();
    judge(kCommon, of);
    if (of == "closed") judge(kClosed, of);
    accuracy(of == "closed");
    if (of == "closed") review();
    for (const MllogRecord& r : log_.records)
      if (r.key == "relaxed_rule")
        out_.relaxed.push_back(r.value.is_string() ? r.value.get<std::string>() : r.value.dump());
    out_.relaxed.erase(std::unique(out_.relaxed.begin(), out_.relaxed.end()), out_.relaxed.end());
    return std::move(out_);
  }

 private:
  void fault(Judge by, std::string key, std::size_t line, std::string text) {
    out_.faults.push_back({by, std::move(key), line, std::move(text)});
  }

  // The first line of the key decides which rules there are.
  std::string division() const {
    for (const MllogRecord& r : log_.records)
      if (r.key == "submission_division") return r.value.is_string() ? r.value.get<std::string>() : "";
    return "";
  }

  // In the order of the lines, each by its key's rule; then how often each key was there.
  void judge(std::span<const KeyRule> rules, const std::string& division) {
    State state{.init_minutes = division == "open" ? limits::kInitMinutesOpen : limits::kInitMinutesClosed};
    std::map<std::string, std::vector<const MllogRecord*>> found;
    for (const MllogRecord& r : log_.records) {
      const auto rule = std::find_if(rules.begin(), rules.end(), [&](const KeyRule& k) { return r.key == k.key; });
      if (rule == rules.end()) continue;
      auto& lines = found[r.key];
      lines.push_back(&r);
      if ((!rule->first_only || lines.size() == 1) && !rule->holds(r, state))
        fault(Judge::kCompliance, r.key, r.line,
            std::string("must have ").append(rule->expected).append("; it is ") + r.value.dump() + ", " +
                r.metadata.dump());
      follow(r, state);
    }
    for (const KeyRule& rule : rules) count(rule, found);
  }

  static void follow(const MllogRecord& r, State& s) {
    if (r.key == "init_start")
      s.init_started = true, s.first_init_ms = std::min(s.first_init_ms.value_or(r.time_ms), r.time_ms);
    if (r.key == "init_stop") s.init_stopped = true;
    if (r.key == "run_start") s.run_started = true;
    if (r.key == "global_batch_size") s.global_batch = number_of(r.value);
  }

  void count(const KeyRule& rule, std::map<std::string, std::vector<const MllogRecord*>>& found) {
    const auto& lines = found[rule.key];
    if (rule.count == Count::kSome && lines.empty()) fault(Judge::kCompliance, rule.key, 0, "must be there");
    if (rule.count == Count::kOneOrTwin && lines.empty() && found[rule.twin].empty())
      fault(Judge::kCompliance, rule.key, 0, std::string("or ").append(rule.twin).append(" must be there"));
    if (rule.count != Count::kOne || lines.size() == 1) return;
    const std::string times = "must be there exactly once; it is there " + std::to_string(lines.size()) + " times";
    const bool alike = !lines.empty() && std::all_of(lines.begin(), lines.end(),
                                             [&](const MllogRecord* r) { return r->value == lines[0]->value; });
    if (alike)
      out_.warnings.push_back({Judge::kCompliance, rule.key, lines[1]->line, times + ", always with the same value"});
    else fault(Judge::kCompliance, rule.key, lines.empty() ? 0 : lines[1]->line, times);
  }

  static bool reaches(const MllogRecord& r, bool closed) {
    if (!has(r.value, "BBOX") || !has(r.value, "SEGM")) return false;
    const auto box = number_of(r.value["BBOX"]), mask = number_of(r.value["SEGM"]);
    return box && mask && *box < 1 && *mask < 1 &&
           (!closed || (*box >= limits::kBoxTarget && *mask >= limits::kMaskTarget));
  }

  void accuracy(bool closed) {
    const auto is_accuracy = [](const MllogRecord& r) { return r.key == "eval_accuracy"; };
    if (std::none_of(log_.records.begin(), log_.records.end(), is_accuracy)) return;  // said by its count
    if (std::any_of(log_.records.begin(), log_.records.end(),
            [&](const MllogRecord& r) { return is_accuracy(r) && reaches(r, closed); }))
      return;
    fault(Judge::kCompliance, "eval_accuracy", 0,
        closed ? fixed("never reaches box AP %.3f and mask AP %.3f in one evaluation (as fractions, below 1)",
                     limits::kBoxTarget, limits::kMaskTarget)
               : std::string("is never a pair of fractions below 1"));
  }

  // What the rules say and the program of MLPerf does not look at.
  void review() {
    std::int64_t evaluated = 0;
    const MllogRecord* last = nullptr;
    for (const MllogRecord& r : log_.records) {
      if (r.key == "eval_accuracy") {
        ++evaluated;
        if (has(r.metadata, "epoch_num") && number_of(r.metadata["epoch_num"]) != static_cast<double>(evaluated))
          fault(Judge::kReview, r.key, r.line,
              "must be of every epoch, from 1 on; here epoch " + std::to_string(evaluated) + " was due, and it is of " +
                  r.metadata["epoch_num"].dump());
        if (last && reaches(*last, true))
          fault(Judge::kReview, r.key, r.line,
              "is there although the target was reached in line " + std::to_string(last->line));
        last = &r;
      }
      if (r.key == "run_stop" && has(r.metadata, "status")) stop(r, last);
    }
    numbers("epoch_start", "epoch_num"), numbers("epoch_stop", "epoch_num");
  }

  void stop(const MllogRecord& r, const MllogRecord* last) {
    const Json& status = r.metadata["status"];
    if (!word(status, {"success", "aborted"}))
      fault(Judge::kReview, r.key, r.line, "must have metadata.status success or aborted; it is " + status.dump());
    if (word(status, {"success"}) && (!last || !reaches(*last, true)))
      fault(Judge::kReview, r.key, r.line, "says success, but the last evaluation before it does not reach the target");
  }

  void numbers(const char* key, const char* number_key) {
    std::int64_t due = 1;
    for (const MllogRecord& r : log_.records)
      if (r.key == key && has(r.metadata, number_key)) {
        if (number_of(r.metadata[number_key]) != static_cast<double>(due))
          fault(Judge::kReview, key, r.line,
              "must count epochs from 1 on without a gap; " + std::to_string(due) + " was due, it is " +
                  r.metadata[number_key].dump());
        ++due;
      }
  }

  const result::MllogText& log_;
  LogVerdict out_;
};

// As Python's int() takes it: a number is cut, a text must be digits. Nothing where it refuses.
std::optional<std::string> whole_text(const Json& v) {
  if (v.is_number_integer()) return v.dump();
  if (const auto x = number_of(v)) return std::to_string(static_cast<std::int64_t>(*x));
  const std::string text = v.is_string() ? v.get<std::string>() : "";
  const std::size_t digits = text.find_first_not_of("+-");
  if (digits > 1 || text.find_first_not_of("0123456789", digits) != std::string::npos) return std::nullopt;
  return text;
}

struct Seed {
  std::string file, line, value;
  auto operator<=>(const Seed&) const = default;
};

}  // namespace

const char* judge_name(Judge judge) {
  return judge == Judge::kCompliance ? "compliance checker" : judge == Judge::kPackage ? "package checker" : "rules";
}

bool LogVerdict::accepted(bool compliance_alone) const {
  return std::none_of(faults.begin(), faults.end(),
      [&](const Finding& f) { return !compliance_alone || f.judge == Judge::kCompliance; });
}

LogVerdict check_log(const result::MllogText& log) { return Checker(log).run(); }

std::vector<std::vector<Finding>> check_seeds(const std::vector<result::MllogText>& logs) {
  std::vector<std::vector<Finding>> out(logs.size());
  std::map<Seed, std::size_t> owner;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    bool any = false;
    for (const MllogRecord& r : logs[i].records) {
      if (r.key != "seed") continue;
      any = true;
      const auto seed = whole_text(r.value);
      if (!seed) out[i].push_back({Judge::kPackage, "seed", r.line, "must be a whole number; it is " + r.value.dump()});
      if (!has(r.metadata, "file") || !has(r.metadata, "lineno")) {
        out[i].push_back({Judge::kPackage, "seed", r.line, "must have metadata.file and metadata.lineno"});
        continue;
      }
      const auto [it, fresh] =
          owner.try_emplace({r.metadata["file"].dump(), r.metadata["lineno"].dump(), seed.value_or("")}, i);
      if (!fresh)
        out[i].push_back({Judge::kPackage, "seed", r.line,
            r.value.dump() + " was taken already by log " + std::to_string(it->second + 1) +
                ": runs must differ in it"});
    }
    if (!any) out[i].push_back({Judge::kPackage, "seed", 0, "must be there"});
  }
  return out;
}

}  // namespace ttt::reports
