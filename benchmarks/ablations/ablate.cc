// ablate NAME... : what is a technique worth on this machine, how sure are we, and why? ablate_<name> is the same
// program for one of them.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "app/progress.h"
#include "cards.h"
#include "comm/world.h"
#include "core/error.h"
#include "core/text.h"
#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "index.h"
#include "measure/ending.h"
#include "measure/judge.h"
#include "measure/pair_run.h"
#include "measure/peaks.h"
#include "measure/runner.h"
#include "run/launch.h"
#include "settings/fields_json.h"

namespace {

using namespace ttt;
using namespace ttt::ablations;

constexpr const char* kSummary =
    "Measures what a technique is worth: both variants in one process, in turns, on the same batches.\n"
    "  ablate NAME...   these; ablate --all: every one that compares steps; ablate_NAME: that one\n"
    "  ablate NAME=VARIANT   one of its variants alone, in every design\n"
    "  ablate trainings --recipe mini   those that compare convergence, by accuracy at fixed steps\n"
    "  ablate --list    what there is, and the question of each\n"
    "  ablate --index RESULTS   published claims beside the findings in a folder of results, as Markdown\n"
    "  ablate --cards RESULTS FOLDER   a page for each technique, FOLDER/NAME.md\n"
    "  ablate null      A against A, 40 times: how often is a difference reported where there is none?\n"
    "  ablate planted   a cost of 2 %, 20 times, under load: is it found?\n"
    "  ablate NAME NAME... --design ladder | leave_one_out | factorial | null\n"
    "How long and how precise: --set ablate.limit_s=45 --set ablate.half_width=0.005 --set ablate.budget_s=1200. Then: "
    "report ablations FILE.";

// Of our own options and those of every program (app/options.h): "--set", not "--set=...".
bool takes_value(const std::string& option) {
  constexpr const char* kWithValue[] = {"--recipe", "--set", "--out", "--seed", "--device", "--data"};
  return std::find(std::begin(kWithValue), std::end(kWithValue), option) != std::end(kWithValue);
}

// Words that are no option's value are names. They, and the name in the program's own, become the setting that the rest
// of the program knows.
std::vector<std::string> translated(int argc, char** argv) {
  std::string names, design;
  const std::string program = std::filesystem::path(argv[0]).filename();
  if (program.starts_with("ablate_")) names = program.substr(7);
  std::vector<std::string> out = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--all") names = "all";
    else if (word == "--design" && i + 1 < argc) design = argv[++i];
    else if (word.starts_with("--design=")) design = word.substr(9);
    else if (!word.starts_with("-")) names += (names.empty() ? "" : ",") + word;
    else if (out.push_back(word); takes_value(word) && i + 1 < argc) out.push_back(argv[++i]);
  }
  if (!design.empty()) out.insert(out.begin() + 1, {"--set", "ablate.design=" + design});
  if (!names.empty()) out.insert(out.begin() + 1, {"--set", "ablate.names=" + names});
  return out;
}

void list() {
  for (const Ablation& a : all_ablations()) {
    std::printf("%-16s %s\n%-16s expected: %s\n%-16s promises: %s; variants:", a.name.c_str(), a.question.c_str(), "",
        a.expectation.c_str(), "", promise_name(a.promise));
    for (const Variant& v : a.variants)
      std::printf(" %s%s", &v == &a.variants[0] ? "(baseline) " : "| ", v.name.c_str());
    if (!a.settings.empty()) std::printf("; for");
    for (const Setting& setting : a.settings)
      std::printf(" %s%s", &setting == &a.settings[0] ? "" : "| ", setting.name.c_str());
    if (a.convergence.seeds > 0)
      std::printf("; %lld seeds each, accuracy at fixed steps", static_cast<long long>(a.convergence.seeds));
    if (a.is_batch_ladder())
      std::printf("; a ladder of batches, %s, %lld repeats each",
          result::counted(a.batch_ladder.batches.size(), "rung").c_str(), static_cast<long long>(a.batch_ladder.seeds));
    std::printf("\n");
  }
}

bool asks_for_pages(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  return first == "--index" || first == "--cards";
}

// Of published results, in place of a measurement. Returns the exit code.
int write_pages(int argc, char** argv) {
  try {
    if (argv[1] == std::string("--index")) {
      if (argc != 3) throw UsageError("--index takes a folder: ablate --index results");
      std::fputs(markdown_index(all_ablations(), argv[2]).c_str(), stdout);
      return 0;
    }
    if (argc != 4) throw UsageError("--cards takes two folders: ablate --cards results docs/techniques");
    const std::filesystem::path folder = argv[3];
    std::filesystem::create_directories(folder);
    for (const auto& [name, text] : cards(all_ablations(), argv[2])) {
      const std::filesystem::path file = folder / (name + ".md");
      std::ofstream out(file);
      if (!(out << text << std::flush))
        throw Error("Cannot write " + file.string() + ". Name a folder that you may write to.");
    }
    return 0;
  } catch (const std::filesystem::filesystem_error& e) {
    std::fprintf(stderr, "ablate: %s\n", e.what());
    return 1;
  } catch (const Error& e) {
    std::fprintf(stderr, "ablate: %s\n", e.what());
    return e.exit_code();
  }
}

void check(const AblateRecipe& recipe) {
  train::check(recipe);
  if (recipe.train.trace_steps > 0 || recipe.train.profile_steps > 0)
    throw UsageError(
        "train.trace_steps, train.profile_steps: a comparison keeps no trace and no profile. Run ttt_maskrcnn with the "
        "settings of one side for that.");
  if (!recipe.train.checkpoint.folder.empty() || !recipe.train.checkpoint.from.empty())
    throw UsageError(
        "train.checkpoint: a comparison is not saved and not resumed. Leave train.checkpoint.folder and "
        "train.checkpoint.from out.");
  if (!recipe.train.telemetry.folder.empty())
    throw UsageError(
        "train.telemetry.folder: a comparison has no curves. Run ttt_maskrcnn with the settings of one side for that; "
        "'ablate telemetry' says what it costs.");
}

// With the numbers that the recipe leaves to the launch. `built` of a comparison has what a side changes.
result::Json resolved_settings(AblateRecipe recipe, const comm::World& world) {
  resolve(recipe, world);
  return result::fields_json(recipe);
}

harness::Outcome run(const AblateRecipe& recipe, harness::RunContext& context, const comm::World& world) {
  make_mkl_reproducible();  // before the peaks multiply matrices
  const Plan plan = make_plan(chosen(recipe.ablate), recipe, world);
  context.recorder.update([&](result::RunRecord& r) { r.recipe.settings = resolved_settings(recipe, world); });
  Judgement judgement;
  const bool speaks = world.rank() == 0 && !context.options.quiet;
  harness::StatusLine progress({.enabled = speaks});
  const Listener listener{.say = [&](const std::string& line) { progress.note(line); },
      .now = speaks ? std::function([&](const std::string& line) { progress.show(line); }) : nullptr,
      .row =
          [&](const result::Comparison& row) {
            judgement.add(row);
            context.recorder.update([&](result::RunRecord& r) { r.comparisons.push_back(row); });
            if (result::is_disturbed(row) && !row.known_effect)
              context.recorder.warn(
                  row.ablation + ": " + result::variant_text(row) + ": " + result::disturbance({&row}));
          },
      .converged =
          [&](const result::ConvergenceRow& row) {
            judgement.add(row);
            context.recorder.update([&](result::RunRecord& r) { r.convergence.push_back(row); });
          },
      .climbed =
          [&](const result::BatchLadder& ladder) {
            context.recorder.update([&](result::RunRecord& r) { result::put(r.batch_ladders, ladder); });
          }};
  context.announce(plan.text);
  context.clock.start_run();
  if (recipe.ablate.peaks_s > 0) {
    at::set_num_threads(threads_of_rank(recipe.train.threads, world.team()));
    const auto peaks = roofline::measure_peaks(
        *world.communicator(), {.seconds_each = recipe.ablate.peaks_s, .ranks_of_node = world.local_size()});
    context.recorder.update([&](result::RunRecord& r) { r.peaks = peaks; });
  }
  run_plan(plan, recipe, world, context, listener);
  for (const result::BatchLadder& l : context.recorder.snapshot().batch_ladders) judgement.add(l);
  context.clock.end_run();
  progress.finish();
  if (speaks) std::fputs(ending(context.recorder.snapshot()).c_str(), stdout);
  return judgement.outcome();
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  if (asks_for_pages(argc, argv)) return world.rank() == 0 ? write_pages(argc, argv) : 0;
  const std::vector<std::string> words = translated(argc, argv);
  if (std::find(words.begin(), words.end(), "--list") != words.end()) {
    if (world.rank() == 0) list();
    return 0;
  }
  std::vector<const char*> pointers;
  for (const std::string& w : words) pointers.push_back(w.c_str());
  const auto comm = world.communicator();
  harness::App<AblateRecipe> app;
  app.name = "ablate", app.defaults = AblateRecipe(eval::mask_rcnn()), app.summary = kSummary, app.kind = "ablation",
  app.recipes = embedded_recipes(), app.libraries = library_versions(world);
  app.validate = check;
  app.run = [&](const AblateRecipe& recipe, harness::RunContext& context) { return run(recipe, context, world); };
  return harness::run_app(static_cast<int>(pointers.size()), pointers.data(), app, launch_of(world, *comm, start_s));
}
