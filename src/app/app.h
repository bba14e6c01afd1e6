// The life of a program: command line, recipe, result file, the one catch of all errors. `main` only wires:
//
//   int main(int argc, char** argv) {
//     ttt::comm::World world(&argc, &argv);
//     const auto comm = world.communicator();
//     ttt::harness::App<Recipe> app{.name = "ttt_maskrcnn", .run = train};
//     return ttt::harness::run_app(argc, argv, app, ttt::launch_of(world, *comm, start_s));
//   }
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "app/options.h"
#include "app/signals.h"
#include "core/clock.h"
#include "result/figures.h"
#include "result/phase_clock.h"
#include "result/provenance.h"
#include "result/run_recorder.h"
#include "settings/field_table.h"

namespace ttt::harness {

// This process's place among the ranks, and the few collectives that the life of a program needs. All are called by
// every rank in the same order. The defaults are those of a single process.
struct Launch {
  int rank = 0;
  int size = 1;
  double start_s = now_s();  // the earliest moment that main saw
  // Every rank gets rank 0's text.
  std::function<std::string(const std::string& text)> from_root = [](const std::string& text) { return text; };
  // Rank 0 gets every rank's text in rank order, the others nothing.
  std::function<std::vector<std::string>(const std::string& text)> gather = [](const std::string& text) {
    return std::vector{text};
  };
  // Ends every rank with this exit code (MPI_Abort). Not needed for one rank.
  std::function<void(int exit_code)> abort;
  // How long a failing rank other than 0 waits before it speaks: an error that all ranks share is rank 0's to report,
  // and its abort ends the others meanwhile. (Open MPI 4.1 sends SIGTERM one second after a rank failed and SIGKILL one
  // second after that.)
  double grace_s = 2;
};

// How a run ended when nothing was thrown.
struct Outcome {
  result::Verdict verdict = result::Verdict::kFailed;
  std::string reason;          // one sentence: "box AP 0.512 >= 0.50 and mask AP 0.503 >= 0.50 after 5 epochs"
  bool to_be_resumed = false;  // interrupted as asked, with all saved: exit code 0 whatever the verdict
  // What the last lines say beside the figures of the record (result::figures_of).
  std::vector<result::Figure> figures = {};
};

// What a run knows of its other ranks, for the thread that writes a result while the run's own hangs.
class Witness {
 public:
  // For the life of this object; its end waits for a question that is being answered.
  class Scope {
   public:
    Scope(Witness& witness, std::function<std::string()> answer) : witness_(witness) {
      witness_.set(std::move(answer));
    }
    ~Scope() { witness_.set({}); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Witness& witness_;
  };
  // A sentence, "" for nothing. From any thread.
  std::string ask() const {
    const std::lock_guard lock(mutex_);
    return answer_ ? answer_() : "";
  }

 private:
  void set(std::function<std::string()> answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  mutable std::mutex mutex_;
  std::function<std::string()> answer_;
};

// What a run is given beside its recipe.
struct RunContext {
  const Options& options;
  const Launch& launch;
  const std::string& run_id;
  result::RunRecorder& recorder;  // of this rank; target, built and data are set by the run
  result::RunClock& clock;        // start_run() is the run's to call
  SignalWatch& signals;           // poll requested() once per step, agree over the ranks, throw Interrupted
  Witness& witness;               // is asked where a signal ends a run that cannot poll
  // For another thread than the run's, which hangs: writes the result with this reason (unless a rank of the run has),
  // and ends all ranks.
  std::function<void(const std::string& reason)> give_up;
  const std::filesystem::path& out;  // of the result, absolute: what else a run writes stands beside it
  // Prints the first line, on rank 0: what the record says of recipe, data and target by now, `what`, and the result's
  // path. Called once all that is accepted.
  std::function<void(const std::string& what)> announce = [](const std::string&) {};
};

// What --doctor says, and whether it found anything.
struct Examined {
  bool found = false;
  std::string text;
};

// Recipe keys that have a flag of their own; "" where the program has no such setting.
struct ShortcutKeys {
  std::string seed = "seed";
  std::string device = "device";
};

// run_app() without the recipe's type.
struct AppCore {
  std::string name, summary, kind, inject_help;
  result::FieldTable defaults;
  std::map<std::string, std::string> recipes;
  std::string recipe;
  ShortcutKeys shortcuts;
  std::map<std::string, result::LibraryVersion> libraries;
  std::function<void(const result::FieldTable&)> validate;
  std::function<std::optional<std::string>(const result::FieldTable&)> resumes;
  std::function<Outcome(const result::FieldTable&, RunContext&)> run;
  std::function<Examined(const result::FieldTable&, RunContext&)> doctor;
};

// Returns the exit code; see result::verdict_exit_code() and core/error.h. Never throws.
int run_app(int argc, const char* const* argv, const AppCore& app, const Launch& launch);

template <FieldGroup Recipe> struct App {
  std::string name;                     // of the program
  std::string summary;                  // one line for --help
  std::string kind = "time_to_target";  // of the result
  Recipe defaults{};
  // TOML texts that the program carries, by name, and the one that is read without --recipe, where there is one.
  std::map<std::string, std::string> recipes;
  std::string recipe = "default";
  ShortcutKeys shortcuts;
  std::string inject_help;  // of --inject; "": the program does not take it
  std::map<std::string, result::LibraryVersion> libraries;
  // Throws UsageError for settings that contradict each other, naming both keys. May be empty.
  std::function<void(const Recipe&)> validate;
  // Whether this run may resume an earlier one: nullopt if not, else the id of the run in the newest checkpoint, ""
  // where none was saved. May be empty. Called on rank 0 alone, before it takes the result's path. A run that may
  // resume replaces a result with verdict failed: that is what an earlier start left.
  std::function<std::optional<std::string>(const Recipe&)> resumes;
  std::function<Outcome(const Recipe&, RunContext&)> run;
  std::function<Examined(const Recipe&, RunContext&)> doctor;  // of programs that know --doctor
};

template <FieldGroup Recipe>
int run_app(int argc, const char* const* argv, const App<Recipe>& app, const Launch& launch = {}) {
  const auto recipe_of = [&](const result::FieldTable& table) {
    Recipe recipe = app.defaults;
    result::assign(table, recipe);
    return recipe;
  };
  AppCore core{app.name, app.summary, app.kind, app.inject_help, result::field_table(app.defaults), app.recipes,
      app.recipe, app.shortcuts, app.libraries};
  core.validate = [&](const result::FieldTable& table) {
    if (app.validate) app.validate(recipe_of(table));
  };
  if (app.resumes) core.resumes = [&](const result::FieldTable& table) { return app.resumes(recipe_of(table)); };
  core.run = [&](const result::FieldTable& table, RunContext& context) { return app.run(recipe_of(table), context); };
  if (app.doctor)
    core.doctor = [&](const result::FieldTable& table, RunContext& context) {
      return app.doctor(recipe_of(table), context);
    };
  return run_app(argc, argv, core, launch);
}

}  // namespace ttt::harness
