#include "app/app.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <random>
#include <thread>

#include "app/output.h"
#include "core/error.h"
#include "core/foreign_error.h"
#include "result/result_file.h"
#include "result/system_info.h"
#include "settings/fields_json.h"
#include "settings/recipe_text.h"
#include "settings/settings_reader.h"

namespace ttt::harness {
namespace {

using result::Verdict;

// What a caught exception means for the result, the user and the shell.
struct Failure {
  Verdict verdict = Verdict::kFailed;
  std::string reason;
  int exit_code = 1;
  bool agreed = false;  // all ranks throw it at the same place, and it names what it is about
  bool interrupted = false;
  bool refuses() const { return exit_code >= 2 && exit_code <= 4; }  // usage, data, not supported
};

std::string out_of_memory(const std::string& detail) {
  return "This process ran out of memory" + detail + ". Use fewer ranks, workers or a smaller batch on this node.";
}

// Called in a catch block.
Failure current_failure() {
  try {
    throw;
  } catch (const NotSupported& e) {
    return {Verdict::kNotSupported, e.what(), e.exit_code()};
  } catch (const Incorrect& e) {
    return {Verdict::kIncorrect, e.what(), e.exit_code(), true};
  } catch (const Interrupted& e) {
    return {Verdict::kFailed, e.what(), e.exit_code(), true, true};
  } catch (const Error& e) { return {Verdict::kFailed, e.what(), e.exit_code()}; } catch (const std::bad_alloc&) {
    return {Verdict::kFailed, out_of_memory(""), 1};
  } catch (const std::exception& e) {
    // LibTorch's allocator throws an exception of its own: "... DefaultCPUAllocator: can't allocate memory: you tried
    // to allocate 8 bytes. ..."
    const std::string what = shortened(e.what());
    if (const std::size_t at = what.find("you tried to allocate"); at != std::string::npos)
      return {Verdict::kFailed, out_of_memory(" (it" + what.substr(at + 3, what.find('.', at) - at - 3) + ")"), 1};
    // A library's exception may carry a stack trace below its first line.
    return {Verdict::kFailed, "Unexpected error: " + what, 1};
  } catch (...) { return {Verdict::kFailed, "Unexpected error of unknown type.", 1}; }
}

std::string random_id() {
  std::random_device device;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", device(), device());
  return text;
}

// "ttt_maskrcnn-20260301T123456Z-1a2b3c.json"
std::string default_out(const std::string& name, const std::string& run_id) {
  std::string time;
  for (const char c : result::utc_now())
    if (c != '-' && c != ':') time += c;
  return name + "-" + time + "-" + run_id.substr(0, 6) + ".json";
}

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// One program run on one rank.
class Session {
 public:
  Session(int argc, const char* const* argv, const AppCore& app, const Launch& launch)
      : command_(argv, argv + argc), app_(app), launch_(launch), clock_(launch.start_s) {}

  int run() {
    try {
      const int exit_code = guarded_run();
      if (watch_) watch_->answered();
      return exit_code;
    } catch (...) {
      if (watch_) watch_->answered();  // from here on this thread writes the result
      return fail(current_failure());
    }
  }

 private:
  int guarded_run() {
    options_ = parse_options(static_cast<int>(command_.size()), arguments().data(), app_.name, app_.summary,
        app_.inject_help, static_cast<bool>(app_.doctor));
    if (!options_.help.empty()) return print(options_.help);
    if (options_.version) return print(app_.name + " " + result::version_text() + "\n");
    read_recipe();
    if (options_.print_recipe) return print(recipe_toml(table_));
    if (options_.doctor) return examine();
    reserve();
    start_record();
    watch_ = std::make_unique<SignalWatch>([this](const std::string& name) { write_unanswered(name); });
    RunContext context{options_, launch_, run_id_, recorder_, clock_, *watch_, witness_,
        [this](const std::string& reason) { give_up(reason); }, out_,
        [this](const std::string& what) { announce(what); }};
    const Outcome outcome = app_.run(table_, context);
    watch_->answered();
    return finish(outcome);
  }

  // Leaves no result. The exit code is 1 where something was found, for scripts.
  int examine() {
    watch_ = std::make_unique<SignalWatch>([](const std::string&) { std::_Exit(130); });  // nothing to save
    RunContext context{options_, launch_, run_id_, recorder_, clock_, *watch_, witness_, {}, out_};
    const Examined examined = app_.doctor(table_, context);
    watch_->answered();
    print(examined.text);
    return launch_.from_root(examined.found ? "1" : "0") == "1" ? 1 : 0;  // what rank 0 found, which speaks
  }

  std::vector<const char*> arguments() const {
    std::vector<const char*> pointers;
    for (const std::string& argument : command_) pointers.push_back(argument.c_str());
    return pointers;
  }

  int print(const std::string& text) const {
    if (launch_.rank == 0) std::fputs(text.c_str(), stdout);
    return 0;
  }

  void read_recipe() {
    table_ = app_.defaults;
    if (options_.recipe.empty() && app_.recipes.contains(app_.recipe)) options_.recipe = app_.recipe;
    read_recipe_named(table_, app_.recipes, options_.recipe);
    base_ = table_;
    std::vector<Override> overrides;
    for (const std::string& text : options_.set) overrides.push_back(parse_override(table_, text));
    const auto shortcut = [&](const std::string& flag, const std::string& key, const std::string& value) {
      if (key.empty() || !table_.find(key))
        throw UsageError(flag + " has no meaning for " + app_.name + ". Leave it out.");
      overrides.push_back({key, value, flag + " " + value});
    };
    if (options_.seed) shortcut("--seed", app_.shortcuts.seed, std::to_string(*options_.seed));
    if (options_.device) shortcut("--device", app_.shortcuts.device, *options_.device);
    apply_overrides(table_, overrides);
    if (app_.validate) app_.validate(table_);
  }

  // Rank 0 takes the path; the others learn its name and the run's from it.
  void reserve() {
    run_id_ = random_id();
    std::string out = options_.out;
    if (launch_.rank == 0) {
      const std::optional<std::string> earlier = app_.resumes ? app_.resumes(table_) : std::nullopt;
      if (earlier && !earlier->empty()) run_id_ = *earlier;
      if (out.empty()) out = default_out(app_.name, run_id_);
      out = std::filesystem::absolute(out).string();
      reservation_ = std::make_unique<result::Reservation>(out, options_.force, earlier.has_value());
    }
    run_id_ = launch_.from_root(run_id_);
    out_ = launch_.from_root(out);
  }

  void start_record() {
    recorder_.update([&](result::RunRecord& r) {
      r.kind = app_.kind;
      r.run_id = run_id_;
      r.provenance = result::provenance_json(command_, app_.libraries);
      r.recipe.name = options_.recipe.empty() ? app_.recipe : options_.recipe;
      r.recipe.settings = result::fields_json(table_);
      r.recipe.changes = result::fields_changed(base_, table_);
      r.recipe.against_defaults = result::fields_changed(app_.defaults, table_);
      r.recipe.sha256 = result::fields_sha256(table_);
    });
    const std::vector<std::string> nodes = launch_.gather(result::dump(result::json_of(result::this_node()), -1));
    recorder_.update([&](result::RunRecord& r) {
      std::vector<result::Node> parsed;
      for (const std::string& node : nodes)
        parsed.push_back(result::record_from_json<result::Node>(result::parse(node, "a node's description"), "node"));
      r.system = result::system_json(parsed);
      r.system["world_size"] = launch_.size;
    });
    recorder_.start_journal(result::journal_folder(out_), launch_.rank);
  }

  int finish(const Outcome& outcome) {
    recorder_.clocks(clock_.read());
    recorder_.finish(outcome.verdict, outcome.reason);
    int write_error = launch_.rank == 0 ? write_or_say() : 0;
    // Every rank's exit code tells of it, and no rank drops its journal before the result is on the disk.
    write_error = std::stoi(launch_.from_root(std::to_string(write_error)));
    if (write_error) {
      if (launch_.rank == 0) print_end({.verdict = Verdict::kFailed});
      return write_error;
    }
    if (reservation_) reservation_->complete();
    const bool whole = outcome.verdict != Verdict::kFailed && outcome.verdict != Verdict::kIncorrect;
    if (whole) discard_journals();
    if (launch_.rank == 0) end(outcome.figures);
    return outcome.to_be_resumed ? 0 : result::verdict_exit_code(outcome.verdict);
  }

  // The path as the user would write it.
  std::string shown_out() const {
    std::error_code ec;
    const std::string relative = out_.lexically_proximate(std::filesystem::current_path(ec)).string();
    return relative.starts_with("..") ? out_.string() : relative;
  }

  void announce(const std::string& what) {
    if (launch_.rank != 0) return;
    const result::RunRecord record = recorder_.snapshot();
    std::string text = app_.recipes.empty() ? "" : "recipe " + record.recipe.name + ", ";
    if (const std::string data = record.data.value("name", ""); !data.empty()) text += data + ", ";
    if (record.target) text += "target " + result::metrics_text(*record.target, 3) + ", ";
    if (!what.empty()) text += what + ", ";
    print_start(app_.name, text + "result " + shown_out());
    announced_ = true;
  }

  // By the rank that wrote the result. What an error says stands on stderr already.
  void end(const std::vector<result::Figure>& more, bool said = false) {
    if (!announced_) announce("");
    const result::RunRecord record = recorder_.snapshot();
    Answer answer{.sentence = said ? "" : result::headline(record),
        .figures = result::figures_of(record),
        .files = {shown_out()},
        .next = beside(command_[0], "report") + " " + report_command(record) + " " + shown_out(),
        .verdict = record.verdict};
    answer.figures.insert(answer.figures.end(), more.begin(), more.end());
    print_end(answer);
  }

  // The exit code of what went wrong: the result was then saved elsewhere and the user was told where.
  int write_or_say() {
    try {
      write();
      return 0;
    } catch (const std::exception& e) {
      say(e.what());
      return 1;
    }
  }

  bool write() {
    const std::lock_guard lock(write_mutex_);
    return result::write_result(out_, recorder_.snapshot(), {.force = options_.force});
  }

  void say(const std::string& sentence) const {
    const std::string rank =
        launch_.size > 1 ? "rank " + std::to_string(launch_.rank) + " of " + std::to_string(launch_.size) + ": " : "";
    std::fprintf(stderr, "%s: %s%s\n", app_.name.c_str(), rank.c_str(), sentence.c_str());
    std::fflush(stderr);
  }

  int fail(const Failure& failure) {
    // A refused run leaves nothing: neither a result nor a journal, and what was at its path is there again.
    const bool refused = failure.refuses() && !clock_.running();
    if (refused) recorder_.discard_journal();
    if (launch_.rank != 0 && another_spoke_meanwhile(refused)) return failure.exit_code;
    const bool asked = failure.interrupted && launch_.rank == 0;  // no error: the last lines say it
    if (!asked) say(failure.reason);
    if (refused) withdraw();
    else if (!out_.empty()) write_failure(failure, !asked);
    if (refused && announced_) print_end({.verdict = failure.verdict});
    reservation_.reset();
    if (launch_.size > 1 && launch_.abort) launch_.abort(failure.exit_code);
    return failure.exit_code;
  }

  // Waits for rank 0 to report an error that it shares with this rank. Its abort comes as SIGTERM or as the end.
  bool another_spoke_meanwhile(bool refused) const {
    for (const double end = now_s() + launch_.grace_s; now_s() < end; sleep_s(0.1))
      if (watch_ && watch_->requested() && (refused || written_by_our_run())) return true;
    return false;
  }

  // Ends the reservation as if the run had not been started.
  void withdraw() {
    if (!reservation_) return;
    std::error_code ec;
    std::filesystem::remove_all(result::journal_folder(out_), ec);  // other ranks' too
    reservation_->withdraw();
  }

  // Each rank drops its own. Rank 0 also drops those that an earlier start on more ranks left.
  void discard_journals() {
    recorder_.discard_journal();
    std::error_code ec;
    if (launch_.rank == 0) std::filesystem::remove_all(result::journal_folder(out_), ec);
  }

  void write_failure(const Failure& failure, bool said) {
    try {
      recorder_.clocks(clock_.read());
      recorder_.finish(failure.verdict, whose(failure) + failure.reason);
      // The first rank that failed knows the cause; the launcher's signal to the others is its consequence.
      if (!unanswered_written_ && written_by_our_run()) return;
      // A rank that writes just now must not be ended by our abort in the middle of it.
      if (write()) end({}, said);
      else sleep_s(launch_.grace_s);
    } catch (const std::exception& e) {
      if (!said) say(failure.reason);
      say(e.what());
      print_end({.verdict = failure.verdict});
    }
  }

  // "Rank 2 (after step 39): ", where the failure may be this rank's alone.
  std::string whose(const Failure& failure) const {
    const result::RunRecord record = recorder_.snapshot();
    if (launch_.size == 1 || failure.agreed || (launch_.rank == 0 && clock_.run_start_s() == 0)) return "";
    const std::string rank = "Rank " + std::to_string(launch_.rank);
    return rank + (record.steps.size() ? " (after step " + std::to_string(record.steps.step.back()) + "): " : ": ");
  }

  bool written_by_our_run() const {
    try {
      return result::read_result(out_).run_id == run_id_;
    } catch (const std::exception&) { return false; }
  }

  // On the watch's thread, while this rank's main thread hangs in a collective or a long step.
  void write_unanswered(const std::string& signal) {
    try {
      if (launch_.rank != 0) sleep_s(0.2);  // rank 0 first, where it lives
      const std::lock_guard lock(write_mutex_);
      // By the rank whose failure made the launcher signal us, or by give_up on another thread.
      if (written_by_our_run()) return;
      result::RunRecord record = recorder_.snapshot();
      record.clocks = clock_.read();
      record.verdict = Verdict::kFailed;
      const std::string where =
          clock_.evaluating() ? "it was in the evaluation after step " : "it was in the step after step ";
      record.reason =
          signal + " ended the run while " +
          (record.steps.size() ? where + std::to_string(record.steps.step.back()) : "it had not finished a step") + ".";
      if (const std::string known = witness_.ask(); !known.empty()) record.reason += " " + known;
      record.warnings.push_back(
          "Written by rank " + std::to_string(launch_.rank) + " alone: samples are those of this rank.");
      unanswered_written_ = result::write_result(out_, record, {.force = options_.force});
    } catch (const std::exception& e) { say(e.what()); }
  }

  // On a thread of the run's, while this rank's main thread hangs.
  void give_up(const std::string& reason) {
    // Whatever hangs may hold what writing needs, or be the disk or MPI itself: this process ends all the same, and the
    // launcher ends the others.
    std::thread([] {
      sleep_s(kWritingLimit);
      std::_Exit(1);
    }).detach();
    say(reason);
    try {
      if (!written_by_our_run()) {
        recorder_.clocks(clock_.read());
        recorder_.warn("Written by rank " + std::to_string(launch_.rank) + " alone: samples are those of this rank.");
        recorder_.finish(Verdict::kFailed, reason);
        if (write()) end({}, true);
        else sleep_s(launch_.grace_s);  // our abort must not end the rank that writes just now
      }
    } catch (const std::exception& e) {
      say(e.what());
      print_end({.verdict = Verdict::kFailed});
    }
    end_ranks(1);
  }

  [[noreturn]] void end_ranks(int code) const {
    if (launch_.size > 1 && launch_.abort) launch_.abort(code);
    std::_Exit(code);
  }

  static constexpr double kWritingLimit = 10;  // seconds
  const std::vector<std::string> command_;
  const AppCore& app_;
  const Launch& launch_;
  result::RunClock clock_;
  Options options_;
  result::FieldTable base_, table_;  // as the recipe says, and with the command line
  std::string run_id_;
  std::filesystem::path out_;
  std::unique_ptr<result::Reservation> reservation_;
  result::RunRecorder recorder_;
  bool announced_ = false;
  std::mutex write_mutex_;
  Witness witness_;
  std::atomic<bool> unanswered_written_ = false;  // what stands there is this rank's watchdog's: the run may say more
  std::unique_ptr<SignalWatch> watch_;            // last: its thread uses all of the above
};

}  // namespace

int run_app(int argc, const char* const* argv, const AppCore& app, const Launch& launch) {
  return Session(argc, argv, app, launch).run();
}

}  // namespace ttt::harness
