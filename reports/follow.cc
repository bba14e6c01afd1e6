#include "reports/follow.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"
#include "result/result_file.h"

namespace ttt::reports {
namespace {

namespace fs = std::filesystem;
using result::Json;
using result::RunRecord;

constexpr std::size_t kPace = 50;       // steps over which the present pace is taken
constexpr std::size_t kSparkline = 40;  // columns
constexpr double kSilent_s = 60;        // a run that says nothing for so long may be gone

// "x.json", its journal or a file in that: the result's path.
fs::path result_of(const fs::path& run) {
  fs::path folder = run;
  if (folder.extension() == ".jsonl") folder = folder.parent_path();
  if (folder.filename().empty()) folder = folder.parent_path();  // "x.json.journal/"
  return folder.extension() == ".journal" ? folder.parent_path() / folder.stem() : folder;
}

// A number of the recipe; 0 where it is not there.
double setting(const RunRecord& r, const char* pointer) {
  const Json::json_pointer at(pointer);
  return r.recipe.settings.contains(at) && r.recipe.settings.at(at).is_number() ? r.recipe.settings.at(at).get<double>()
                                                                                : 0;
}

template <class T> std::vector<T> last(const std::vector<T>& v, std::size_t n) {
  return {v.end() - static_cast<std::ptrdiff_t>(std::min(n, v.size())), v.end()};
}

std::vector<double> total_loss(const result::StepSeries& s) {
  std::vector<double> out(s.size(), 0.0);
  for (const auto& loss : s.loss)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += loss[i];
  return out;
}

// From the run's start to its last line.
double elapsed_s(const RunRecord& r) {
  const std::int64_t evaluated = r.accuracy.empty() ? 0 : r.accuracy.back().step;
  double s = r.accuracy.empty() ? 0 : r.accuracy.back().wall_s;
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    if (r.steps.step[i] >= evaluated) s += r.steps.step_s[i];
  return s;
}

std::string clock_text(double seconds) {
  const auto s = static_cast<long long>(std::llround(seconds));
  return s >= 3600 ? fixed("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60) : fixed("%lld:%02lld", s / 60, s % 60);
}

double pace_s(const RunRecord& r) { return median(last(r.steps.step_s, kPace)); }

std::string step_text(const RunRecord& r) {
  const Remaining left = remaining(r);
  std::string text = r.steps.size() ? std::to_string(r.steps.step.back() + 1) : "0";
  if (left.total_steps > 0) text += " of at most " + std::to_string(left.total_steps);
  if (const double images = train_images_of(r); images > 0)
    text += fixed(" (epoch %.2f)",
        static_cast<double>(std::accumulate(r.steps.images.begin(), r.steps.images.end(), std::int64_t{0})) / images);
  return text;
}

Cell with_line(const std::string& text, const std::vector<double>& values) {
  return text + std::string(text.size() < 12 ? 12 - text.size() : 1, ' ') + sparkline(values, kSparkline);
}

void add_steps(const RunRecord& r, Document& d) {
  Table t{.header = {"", "last step"}, .headless = true};
  t.add("step", {step_text(r)});
  if (r.steps.size() > 0) {
    const std::vector<double> rates = step_rates(r), loss = total_loss(r.steps);
    if (!rates.empty()) t.add("images/s", {with_line(fixed("%.4g", median(last(rates, kPace))), rates)});
    t.add("loss", {with_line(fixed("%.4g", loss.back()), loss)});
    for (std::size_t i = 0; i < r.steps.loss.size(); ++i)
      t.rows.push_back(
          {"  " + r.steps.loss_names[i], with_line(fixed("%.4g", r.steps.loss[i].back()), r.steps.loss[i])});
    t.add("learning rate", {with_line(fixed("%.4g", r.steps.learning_rate.back()), r.steps.learning_rate)});
  }
  t.add("elapsed", {clock_text(elapsed_s(r))});
  if (const Remaining left = remaining(r); left.seconds >= 0) t.add("to go", {"at most " + clock_text(left.seconds)});
  d.push_back(std::move(t));
}

void add_accuracy(const RunRecord& r, Document& d) {
  if (r.accuracy.empty()) return;
  if (r.target) d.push_back(Paragraph{target_text(*r.target)});
  Table t{.header = {"epoch", "step", "wall"}};
  for (const std::string& name : headline_metrics(r)) t.header.add_data(result::metric_title(name));
  t.right.assign(t.header.names().size(), true);
  for (const result::Evaluation& e : last(r.accuracy, 8)) {
    t.rows.push_back({whole(e.epoch), whole(e.step), seconds(e.wall_s)});
    for (const std::string& name : headline_metrics(r)) t.rows.back().push_back(metric_cell("%.4f", e, name));
  }
  d.push_back(std::move(t));
}

void add_norms(const RunRecord& r, Document& d) {
  if (!r.telemetry || r.telemetry->size() == 0) return;
  const result::TelemetrySeries& n = *r.telemetry;
  Table t{.header = {"group", "gradient norm", "weight norm", "update / weight"}, .right = {false, true, true, true}};
  for (const result::TelemetryGroup& g : n.groups) {
    const double weight = g.weight_norm.back();
    t.rows.push_back({g.name, number("%.4g", g.gradient_norm.back()), number("%.5g", weight),
        weight > 0 ? number("%.2e", g.update_norm.back() / weight) : Cell("-")});
  }
  d.push_back(std::move(t));
}

// Null where there is none yet, or it goes in this moment: the run has ended.
std::unique_ptr<result::JournalReader> open_journal(const fs::path& folder) {
  try {
    return std::make_unique<result::JournalReader>(folder);
  } catch (const UsageError&) { return nullptr; }
}

std::string accuracy_text(const RunRecord& r) {
  result::Metrics last;
  for (const std::string& name : headline_metrics(r)) last.push_back({name, 0});
  return last.empty() ? "" : "  " + result::metrics_text(result::bounded(r.accuracy.back().metrics, last), 3);
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  static constexpr const char* kBlocks[] = {
      "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  std::vector<double> means;
  const std::size_t n = values.size(), columns = std::min(width, n);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t begin = c * n / columns, end = (c + 1) * n / columns;
    means.push_back(std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                        values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
                    static_cast<double>(end - begin));
  }
  std::string out;
  if (means.empty()) return out;
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  for (const double m : means)
    out += kBlocks[*most > *least ? std::min(7, static_cast<int>((m - *least) / (*most - *least) * 8)) : 0];
  return out;
}

Remaining remaining(const RunRecord& r) {
  Remaining left;
  const double images = train_images_of(r), batch = static_cast<double>(global_batch_of(r));
  const double epochs = setting(r, "/train/epochs"), max_steps = setting(r, "/train/max_steps"),
               rare = setting(r, "/train/eval_every_epochs"), near = setting(r, "/train/eval_near_every_epochs"),
               interval = near > 0 ? std::min(rare, near) : rare;  // the estimate is "at most"
  if (images <= 0 || batch <= 0 || epochs <= 0) return left;
  const bool wrap = r.recipe.settings.value(Json::json_pointer("/data/last_batch"), std::string()) == "wrap";
  const double per_epoch = wrap ? std::ceil(images / batch) : std::floor(images / batch);
  left.total_steps = static_cast<std::int64_t>(epochs * per_epoch);
  if (max_steps > 0) left.total_steps = std::min(left.total_steps, static_cast<std::int64_t>(max_steps));
  left.steps = std::max<std::int64_t>(0, left.total_steps - (r.steps.size() ? r.steps.step.back() + 1 : 0));
  if (r.steps.size() == 0) return left;
  left.seconds = static_cast<double>(left.steps) * pace_s(r);
  if (max_steps <= 0 && interval > 0 && !r.accuracy.empty())
    left.seconds +=
        std::ceil(static_cast<double>(left.steps) / std::max(1.0, interval * per_epoch)) * r.accuracy.back().duration_s;
  return left;
}

Document run_state(const RunRecord& r, double silent_s) {
  std::string title = silent_s < 0 ? std::string(result::verdict_name(r.verdict)) : "under way";
  title += ": recipe " + r.recipe.name + ", " + text_at(r.system, "world_size") + " ranks, global batch " +
           text_at(r.built, "global_batch");
  Document d = {Heading{title}};
  if (silent_s < 0) d.push_back(Paragraph{r.reason.empty() ? "No reason was given." : r.reason});
  add_steps(r, d);
  add_accuracy(r, d);
  add_norms(r, d);
  for (const std::string& warning : r.warnings) d.push_back(Paragraph{"! " + warning});
  if (silent_s > kSilent_s)
    d.push_back(Paragraph{"! Nothing was written for " + clock_text(silent_s) +
                          ". A run that was killed leaves its journal: 'report recover' makes a result of it."});
  return d;
}

std::string run_state_line(const RunRecord& r) {
  std::string text = "step " + step_text(r);
  if (r.steps.size() > 0) {
    text += fixed("  loss %.4g", total_loss(r.steps).back());
    if (const auto rates = step_rates(r); !rates.empty()) text += fixed("  %.4g images/s", median(last(rates, kPace)));
    text += "  elapsed " + clock_text(elapsed_s(r));
    if (const Remaining left = remaining(r); left.seconds >= 0)
      text += "  at most " + clock_text(left.seconds) + " to go";
  }
  return text + accuracy_text(r);
}

FollowedRun::FollowedRun(const fs::path& run) : file_(result_of(run)), journal_folder_(result::journal_folder(file_)) {
  poll();
  if (!journal_ && !result_)
    throw UsageError("There is neither a result '" + file_.string() + "' nor a journal '" + journal_folder_.string() +
                     "' of a run that is under way. Name the file that the run was given with --out.");
}

void FollowedRun::poll() {
  if (!journal_) journal_ = open_journal(journal_folder_);
  if (journal_) journal_->poll();
  std::error_code unknown;
  if (!fs::is_regular_file(file_, unknown)) return;
  RunRecord found = result::read_result(file_);
  // A journal beside a result is that of a run that failed, or of one that will replace the result.
  if (!journal_ || !journal_->started() || found.run_id == journal_->record().run_id) result_ = std::move(found);
}

double FollowedRun::silent_s() const {
  if (result_) return -1;
  std::error_code unknown;
  const auto written = fs::last_write_time(journal_->file(), unknown);
  return unknown ? 0 : std::max(0.0, std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count());
}

void follow(const fs::path& run, const FollowOptions& options) {
  FollowedRun followed(run);
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const auto show = [&] {
    print(run_state(followed.record(), followed.silent_s()), {.format = "text", .width = options.width});
  };
  for (std::size_t printed = 0; !options.once && !followed.ended(); followed.poll()) {
    const std::size_t steps = followed.record().steps.size();
    if (terminal) print("\x1b[H\x1b[J"), show();  // from the upper left corner, on an empty screen
    else if (steps != std::exchange(printed, steps)) print(run_state_line(followed.record()) + "\n");
    std::this_thread::sleep_for(std::chrono::duration<double>(options.every_s));
  }
  if (terminal && !options.once) print("\x1b[H\x1b[J");
  show();
}

static std::function<int()> declare_follow(CLI::App& command) {
  struct Arguments {
    std::string run;
    FollowOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("run", a->run, "What the run was given with --out, or the folder <result>.journal")->required();
  command.add_flag("--once", a->options.once, "Print where the run stands now, and end");
  command.add_option("--every", a->options.every_s, "Seconds between looks at the journal")
      ->check(CLI::Range(0.1, 3600.0));
  command.add_option("--width", a->options.width, "Columns of the text; by default the terminal's");
  command.footer("Example: report follow results/run.json");
  return [a] {
    follow(a->run, a->options);
    return 0;
  };
}

const Command kFollow = {
    "follow", "Where a run stands that is under way: steps, losses, images/s, time to go, the last AP", declare_follow};

}  // namespace ttt::reports
