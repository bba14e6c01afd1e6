// The program `report`: a table of its subcommands.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/nearest.h"
#include "reports/ablations.h"
#include "reports/accuracy.h"
#include "reports/check.h"
#include "reports/command_line.h"
#include "reports/follow.h"
#include "reports/html.h"
#include "reports/scaling.h"
#include "reports/score.h"
#include "reports/show.h"
#include "reports/telemetry.h"
#include "reports/timeline.h"
#include "result/journal.h"
#include "result/provenance.h"
#include "result/result_file.h"

namespace {

using namespace ttt;
using reports::Output;

struct FilesArguments {
  std::vector<std::string> files;
  Output output;
};

// Names on stderr the runs for which `reason` gives one; the exit code tells.
void leave_out(reports::Runs& all, std::string (*reason)(const reports::NamedRun&)) {
  std::erase_if(all.runs, [&](const reports::NamedRun& run) {
    const std::string why = reason(run);
    if (why.empty()) return false;
    std::fprintf(stderr, "report: left out '%s': %s\n", run.name.c_str(), why.c_str());
    all.exit_code = 2;
    return true;
  });
}

std::function<int()> declare_show(CLI::App& command) {
  struct Arguments {
    std::string file;
    Output output;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("file", a->file, "Result file of a run")->required();
  add_output_options(command, a->output);
  command.footer("Example: report show results/run.json");
  return [a] {
    print(reports::show_run(result::read_result(a->file)), a->output);
    return 0;
  };
}

std::function<int()> declare_ablations(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command.add_option("files", a->files, "Result files of ablate")->required();
  add_output_options(command, a->output);
  command.footer("Example: report ablations results/ablations.json --format csv > ablations.csv");
  return [a] {
    const reports::Runs all = reports::read_all(a->files);
    if (!all.runs.empty()) print(reports::ablations(all.runs), a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_compare(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command
      .add_option("files", a->files,
          "Result files; the first is what the others are compared with. MLPerf logs and "
          "results/published/*.json stand beside them in a table")
      ->required();
  add_output_options(command, a->output);
  command.footer(
      "Example: report compare this_machine.json that_machine.json\n         report compare mine.json "
      "results/published/mlperf_v3.0_maskrcnn.json");
  return [a] {
    const reports::Mixed all = reports::read_mixed(a->files);
    const bool others = !all.inputs.logs.empty() || !all.inputs.published.empty();
    reports::Document d;
    if (!others || all.inputs.runs.size() > 1) d = reports::compare(all.inputs.runs);
    if (others) {
      const reports::Document beside = reports::beside_published(all.inputs);
      d.insert(d.end(), beside.begin(), beside.end());
    }
    print(d, a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_score(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command
      .add_option("files", a->files,
          "Results of runs to a target, or MLPerf logs, five or more of each system; results/published/*.json "
          "stands beside them")
      ->required();
  add_output_options(command, a->output);
  command.footer(
      "The score is MLPerf's: the mean time to target of five runs without the fastest and the slowest. One of the "
      "five may have missed the target; it is the\n"
      "slowest then. Of more than five runs, the five consecutive in time count whose score is the median of all such "
      "fives. Runs of the closed division, logs and\n"
      "published results are compared with MLPerf's reference convergence points: too few epochs fail, few ones are "
      "normalised. The score is in minutes in the\n"
      "last column; reports/METRICS.md derives every number.\n\n"
      "Example: report score seed1.json seed2.json seed3.json seed4.json seed5.json\n"
      "         report score result_*.txt\n"
      "         report score mine/*.json results/published/mlperf_v3.0_maskrcnn.json");
  return [a] {
    const reports::Mixed all = reports::read_mixed(a->files);
    print(reports::score(all.inputs), a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_check(CLI::App& command) {
  struct Arguments : FilesArguments {
    reports::CheckOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .add_option("logs", a->files,
          "MLPerf logs: the .mllog.txt beside a result, or a submission's result_*.txt, all of one system together")
      ->required();
  command.add_flag("--compliance-alone", a->options.compliance_alone,
      "Decide as MLPerf's compliance checker does and no more: seeds, numbers of epochs, and where the "
      "run stopped, are left to the people who review");
  add_output_options(command, a->output);
  command.footer(
      "The rules of MLPerf Training 3.1.0 for Mask R-CNN: keys, how often each, their order and values, evaluation "
      "after every epoch from 1 on, the target at the\n"
      "end, seeds that differ between the logs. The exit code is 0 where every log is accepted, 1 where one is "
      "rejected.\n\n"
      "Example: report check runs/*.mllog.txt");
  return [a] {
    std::vector<reports::NamedLog> logs;
    for (const std::string& file : a->files) logs.push_back(reports::read_log(file));
    const reports::Checked checked = reports::check(logs, a->options);
    print(checked.document, a->output);
    return checked.rejected > 0 ? 1 : 0;
  };
}

std::function<int()> declare_bench(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command.add_option("files", a->files, "Files that micro or micro_all_reduce wrote with --benchmark_format=json")
      ->required();
  add_output_options(command, a->output);
  command.footer("Example: micro --benchmark_filter=nms --benchmark_format=json > micro.json; report bench micro.json");
  return [a] {
    const reports::Inputs all = reports::read_inputs(a->files);
    reports::name_left_out(all);
    std::vector<reports::BenchFile> benches;
    for (const reports::BenchInput& b : all.benches) benches.push_back(b.file);
    for (const reports::ResultFile& r : all.results)
      std::fprintf(stderr,
          "report: '%s' is a result of this suite, not of Google Benchmark: 'report show' prints it.\n",
          r.run.name.c_str());
    if (!benches.empty()) print(reports::bench(benches), a->output);
    return benches.empty() && all.left_out.empty() ? 2 : all.exit_code();
  };
}

std::function<int()> declare_html(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> files;
    std::string out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .add_option("files", a->files,
          "Files of any mix, and folders of them: results of runs and of ablate, output of micro "
          "--benchmark_format=json")
      ->required();
  command.add_option("--out", a->out, "Page to write")->required();
  command.add_flag("--force", a->force, "Replace it where it exists");
  command.footer(
      "One file that opens in any browser, without a network: all results in a table that sorts by a click, accuracy "
      "over time and epochs, step times,\n"
      "effects of ablations, runs side by side (the first one named is what the others are compared with), and the "
      "files themselves to download.\n"
      "A file that was truncated or edited is left out; the page and stderr say so, and the exit code is not 0.\n\n"
      "Example: report html results micro.json --out page.html");
  return [a] {
    const reports::Inputs all = reports::read_inputs(a->files);
    reports::name_left_out(all);
    reports::write_page(a->out, reports::html_page(all), a->force);
    return all.exit_code();
  };
}

std::function<int()> declare_scaling(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::vector<std::string> allowed;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .add_option("files", a->files,
          "Result files of runs with different numbers of ranks, several seeds of each where there are any")
      ->required();
  command
      .add_option("--allow", a->allowed, "Key of a recipe that may differ (train.schedule.lr); repeat it for several")
      ->allow_extra_args(false);
  add_output_options(command, a->output);
  command.footer("Example: report scaling 1_rank.json 2_ranks.json 4_ranks.json --allow train.schedule.lr");
  return [a] {
    const reports::Runs all = reports::read_all(a->files);
    print(reports::scaling(all.runs, a->allowed), a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_accuracy(CLI::App& command) {
  struct Arguments : FilesArguments {
    reports::AccuracyOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("files", a->files, "Result files of runs; seeds of one recipe are taken together")->required();
  command
      .add_option("--ap", a->options.thresholds,
          "AP (0 to 1) whose first reaching is asked for, beside the target; repeat it for several")
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--interpolate", a->options.interpolate,
      "Take AP as a straight line between evaluations; by default the first evaluation that reached it counts");
  add_output_options(command, a->output);
  command.footer("Example: report accuracy seed*.json --ap 0.3 --interpolate");
  return [a] {
    const reports::Runs all = reports::read_all(a->files);
    if (!all.runs.empty()) print(reports::accuracy(all.runs, a->options), a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_timeline(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::string out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("files", a->files, "Result files of runs with train.trace_steps")->required();
  command.add_option("--out", a->out,
      "Write the spans of all files there, in Chrome's trace event format: open it in ui.perfetto.dev "
      "or chrome://tracing");
  command.add_flag("--force", a->force, "Replace --out where it exists");
  add_output_options(command, a->output);
  command.footer("Example: report timeline traced.json --out trace.json");
  return [a, &command] {
    if (!a->out.empty() && command.count("--format") + command.count("--width") > 0)
      throw UsageError(
          "--format and --width are of the printed report; --out writes a file for trace viewers in its one format. "
          "Leave out either.");
    reports::Runs all = reports::read_all(a->files);
    leave_out(all, reports::why_no_trace);
    if (all.runs.empty()) return all.exit_code;
    if (a->out.empty()) print(reports::timeline(all.runs), a->output);
    else reports::write_page(a->out, reports::chrome_trace(all.runs), a->force);
    return all.exit_code;
  };
}

std::function<int()> declare_telemetry(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command.add_option("files", a->files, "Result files of runs with train.telemetry.folder")->required();
  add_output_options(command, a->output);
  command.footer("Example: report telemetry run.json");
  return [a] {
    reports::Runs all = reports::read_all(a->files);
    leave_out(all, reports::why_no_telemetry);
    if (!all.runs.empty()) print(reports::telemetry(all.runs), a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_follow(CLI::App& command) {
  struct Arguments {
    std::string run;
    reports::FollowOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("run", a->run, "What the run was given with --out, or the folder <result>.journal")->required();
  command.add_flag("--once", a->options.once, "Print where the run stands now, and end");
  command.add_option("--every", a->options.every_s, "Seconds between looks at the journal")
      ->check(CLI::Range(0.1, 3600.0));
  command.add_option("--width", a->options.width, "Columns of the text; by default the terminal's");
  command.footer("Example: report follow results/run.json");
  return [a] {
    reports::follow(a->run, a->options);
    return 0;
  };
}

std::function<int()> declare_recover(CLI::App& command) {
  struct Arguments {
    std::string journal, out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("journal", a->journal, "Folder <result>.journal, or one rank's file in it")->required();
  command.add_option("--out", a->out, "Result file to write")->required();
  command.add_flag("--force", a->force, "Replace it where it exists");
  command.footer("Example: report recover results/run.json.journal --out results/run.json");
  return [a] {
    const result::RunRecord record = result::recover_run(a->journal);
    const result::Reservation reservation(a->out, a->force);
    result::write_result(a->out, record, {.force = a->force});
    reports::print("Recovered " + std::to_string(record.steps.size()) + " steps and " +
                   std::to_string(record.accuracy.size()) + " evaluations into '" + a->out + "'.\n");
    return 0;
  };
}

std::function<int()> declare_schema(CLI::App&) {
  return [] {
    reports::print(result::dump(result::result_schema()) + "\n");
    return 0;
  };
}

constexpr reports::Command kCommands[] = {
    {"show", "Print one run for people (the default: report FILE)", declare_show},
    {"ablations", "What techniques are worth: effect, interval, finding, cause of each comparison", declare_ablations},
    {"compare", "Results side by side, each with its ratio to the first: two machines, two commits", declare_compare},
    {"score",
        "One number for several runs of a system: the Olympic mean of five times to target, as MLPerf's; published "
        "results beside it",
        declare_score},
    {"check", "Whether MLPerf logs keep the rules of the closed division, and which line breaks which", declare_check},
    {"bench", "Micro-benchmarks: the JSON output of Google Benchmark programs as a table", declare_bench},
    {"html", "One page with all results, plots and raw data, to open in a browser", declare_html},
    {"scaling", "What more ranks bring: speed-up, efficiency, and time to target as epochs times time per epoch",
        declare_scaling},
    {"accuracy", "AP at every evaluation, and when thresholds were reached: over epochs and time, over several seeds",
        declare_accuracy},
    {"timeline",
        "What the threads of a run did when: communication against the phases of the steps, or a file for trace "
        "viewers "
        "(--out)",
        declare_timeline},
    {"telemetry",
        "Norms of gradients and weights by groups of layers, the heads' ratio, and what a fall of the learning rate "
        "did "
        "to the weights",
        declare_telemetry},
    {"follow", "Where a run stands that is under way: steps, losses, images/s, time to go, the last AP",
        declare_follow},
    {"recover", "Make a result of the journal that a killed run left", declare_recover},
    {"schema", "JSON Schema (draft-07) of result files", declare_schema},
};

// "report FILE" is short for "report show FILE". A first word that is no file but nearly a command is a slip of the
// keyboard.
std::vector<std::string> complete(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc), names;
  for (const reports::Command& c : kCommands) names.push_back(c.name);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "--version" ||
      std::find(names.begin(), names.end(), words[0]) != names.end())
    return words;
  const std::string close = nearest(words[0], names);
  if (edit_distance(words[0], close) <= 2 && !std::filesystem::exists(words[0]))
    throw UsageError("'" + words[0] + "' is neither a file nor a command. The nearest command is '" + close +
                     "'; 'report --help' lists all.");
  words.insert(words.begin(), "show");
  return words;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Reports on result files: one run, several side by side, ablations, scores, micro-benchmarks; as text, Markdown, "
      "CSV or HTML",
      "report"};
  app.require_subcommand(1);
  app.footer(
      "Files are what a run (ttt_maskrcnn, ablate, ...) wrote with --out. reports/METRICS.md derives every number.\n\n"
      "  report results/run.json                            one run\n"
      "  report compare a.json b.json                       this machine against that one\n"
      "  report html results --out page.html                everything, in a browser\n"
      "  report ablations results/ablations.json --format csv > ablations.csv\n\n"
      "'report COMMAND --help' says what a command takes. A file that was truncated or edited is named and left out.");
  app.set_version_flag("--version", "report " + result::version_text());
  std::function<int()> chosen;
  for (const reports::Command& c : kCommands) {
    CLI::App* command = app.add_subcommand(c.name, c.description);
    command->final_callback([&chosen, action = c.declare(*command)] { chosen = action; });
  }
  try {
    std::vector<std::string> words = complete(argc, argv);
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::CallForHelp& e) { return app.exit(e); } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    throw UsageError(std::string(e.what()) + ". 'report --help' shows how it is used.");
  }
  return chosen();  // outside of the parser: what it throws is not about the command line
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const ttt::Error& e) {
    std::fprintf(stderr, "report: %s\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "report: unexpected error: %s\n", e.what());
    return 1;
  }
}
