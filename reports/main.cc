// The program `report`: a table of its subcommands.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/error.h"
#include "reports/ablations.h"
#include "reports/command_line.h"
#include "reports/show.h"
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

std::function<int()> declare_show(CLI::App& command) {
  struct Arguments {
    std::string file;
    Output output;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("file", a->file, "Result file of a run")->required();
  add_output_options(command, a->output);
  return [a] {
    print(reports::show_run(result::read_result(a->file)), a->output);
    return 0;
  };
}

std::function<int()> declare_ablations(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command.add_option("files", a->files, "Result files of ablate")->required();
  add_output_options(command, a->output);
  return [a] {
    const reports::Runs all = reports::read_all(a->files);
    std::vector<result::RunRecord> records;
    for (const reports::NamedRun& run : all.runs) records.push_back(run.record);
    if (!records.empty()) print(reports::ablations(records), a->output);
    return all.exit_code;
  };
}

std::function<int()> declare_compare(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command.add_option("files", a->files, "Result files; the first is what the others are compared with")->required();
  add_output_options(command, a->output);
  return [a] {
    const reports::Runs all = reports::read_all(a->files);
    print(reports::compare(all.runs), a->output);
    return all.exit_code;
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
  return [a] {
    const result::RunRecord record = result::recover_run(a->journal);
    const result::Reservation reservation(a->out, a->force);
    result::write_result(a->out, record, {.force = a->force});
    reports::print("Recovered " + std::to_string(record.steps.size()) + " steps and " + std::to_string(record.accuracy.size()) + " evaluations into '" +
                   a->out + "'.\n");
    return 0;
  };
}

constexpr reports::Command kCommands[] = {
    {"show", "Print one run for people (the default: report FILE)", declare_show},
    {"ablations", "What techniques are worth: effect, interval, finding, cause of each comparison", declare_ablations},
    {"compare", "Results side by side, each with its ratio to the first: two machines, two commits", declare_compare},
    {"recover", "Make a result of the journal that a killed run left", declare_recover},
};

// "report FILE" is short for "report show FILE".
std::vector<std::string> complete(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto is_command = [](const std::string& w) {
    return w == "--help" || w == "-h" || w == "--version" || std::any_of(std::begin(kCommands), std::end(kCommands), [&](const auto& c) { return w == c.name; });
  };
  if (!words.empty() && !is_command(words[0])) words.insert(words.begin(), "show");
  return words;
}

int run(int argc, char** argv) {
  CLI::App app{"Reports on result files", "report"};
  app.require_subcommand(1);
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
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
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
