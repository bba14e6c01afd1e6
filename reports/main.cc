// The program `report`: a table of its subcommands.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/nearest.h"
#include "reports/command_line.h"
#include "result/journal.h"
#include "result/provenance.h"
#include "result/result_file.h"

namespace {

using namespace ttt;

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

const reports::Command kRecover = {"recover", "Make a result of the journal that a killed run left", declare_recover};
const reports::Command kSchema = {"schema", "JSON Schema (draft-07) of result files", declare_schema};

// In the order of --help.
const reports::Command* const kCommands[] = {&reports::kShow, &reports::kAblations, &reports::kCompare,
    &reports::kMachines, &reports::kClaims, &reports::kTargets, &reports::kDiagnose, &reports::kHistory,
    &reports::kScore, &reports::kCheck, &reports::kBench, &reports::kHtml, &reports::kPictures, &reports::kScaling,
    &reports::kAccuracy, &reports::kTimeline, &reports::kTelemetry, &reports::kFollow, &kRecover, &kSchema};

// "report FILE" is short for "report show FILE". A first word that is no file but nearly a command is a slip of the
// keyboard.
std::vector<std::string> complete(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc), names;
  for (const reports::Command* c : kCommands) names.push_back(c->name);
  if (!words.empty() && words[0] == reports::kCompare.name)
    std::replace(words.begin(), words.end(), std::string("--"), std::string(reports::kNextGroup));
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "--version" ||
      std::find(names.begin(), names.end(), words[0]) != names.end())
    return words;
  const std::string close = nearest(words[0], names);
  if (!close.empty() && !std::filesystem::exists(words[0]))
    throw UsageError("'" + words[0] + "' is neither a file nor a command. The nearest command is '" + close +
                     "'; 'report --help' lists all.");
  words.insert(words.begin(), "show");
  return words;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Reports on result files: one run, several side by side, ablations, scores, micro-benchmarks; as text, Markdown, "
      "CSV, JSON or HTML",
      "report"};
  app.require_subcommand(1);
  app.footer(
      "Files are what a run (ttt_maskrcnn, ablate, ...) wrote with --out. reports/METRICS.md derives every number.\n\n"
      "  report results/run.json                            one run\n"
      "  report machines results                            which machine is faster, and why\n"
      "  report compare a.json b.json                       this run against that one\n"
      "  report html results --out page.html                everything, in a browser\n"
      "  report ablations results/ablations.json            what techniques are worth, ranked\n\n"
      "'report COMMAND --help' says what a command takes. A file that was truncated or edited is named and left out.");
  app.set_version_flag("--version", "report " + result::version_text());
  std::function<int()> chosen;
  for (const reports::Command* c : kCommands) {
    CLI::App* command = app.add_subcommand(c->name, c->description);
    command->final_callback([&chosen, action = c->declare(*command)] { chosen = action; });
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
