// report FILE, report show FILE: one run for people. report ablations FILE...: what techniques are worth.
// report compare A B...: results side by side. report recover JOURNAL --out FILE: a result from the journal of a
// run that was killed.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "reports/ablations.h"
#include "reports/compare.h"
#include "reports/show.h"
#include "result/journal.h"
#include "result/provenance.h"
#include "result/result_file.h"

namespace {

using namespace ttt;

struct Arguments {
  std::string file, format = "text", out;
  std::vector<std::string> files;
  std::size_t width = 0;  // 0: the terminal's
  bool force = false;
};

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long value = columns ? std::strtol(columns, nullptr, 10) : 0;
  return value > 0 ? static_cast<std::size_t>(value) : 100;
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("Cannot write to standard output. Free the disk or the pipe that it goes to.");
}

void print(const reports::Document& document, const Arguments& a) {
  const std::size_t width = a.width ? a.width : terminal_width();
  print(a.format == "md" ? reports::render_markdown(document)
                         : reports::render_text(document, std::max<std::size_t>(20, width)));
}

void show(const Arguments& a) { print(reports::show_run(result::read_result(a.file)), a); }

// A file that cannot be read is named, and the others are reported: the exit code tells.
struct Runs {
  std::vector<reports::NamedRun> runs;
  int exit_code = 0;
};
Runs read_all(const std::vector<std::string>& files) {
  Runs all;
  for (const std::string& file : files) {
    try {
      all.runs.push_back({file, result::read_result(file)});
    } catch (const Error& e) {
      std::fprintf(stderr, "report: left out '%s': %s\n", file.c_str(), e.what());
      all.exit_code = e.exit_code();
    }
  }
  return all;
}

int ablations(const Arguments& a) {
  const Runs all = read_all(a.files);
  std::vector<result::RunRecord> records;
  for (const reports::NamedRun& run : all.runs) records.push_back(run.record);
  if (!records.empty()) print(reports::ablations(records), a);
  return all.exit_code;
}

int compare(const Arguments& a) {
  const Runs all = read_all(a.files);
  print(reports::compare(all.runs), a);
  return all.exit_code;
}

void recover(const Arguments& a) {
  const result::RunRecord record = result::recover_run(a.file);
  const result::Reservation reservation(a.out, a.force);
  result::write_result(a.out, record, {.force = a.force});
  print("Recovered " + std::to_string(record.steps.size()) + " steps and " + std::to_string(record.accuracy.size()) +
        " evaluations into '" + a.out + "'.\n");
}

// "report FILE" is short for "report show FILE".
std::vector<std::string> complete(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto is_command = [](const std::string& w) {
    return w == "show" || w == "ablations" || w == "compare" || w == "recover" || w == "--help" || w == "-h" || w == "--version";
  };
  if (!words.empty() && !is_command(words[0])) words.insert(words.begin(), "show");
  return words;
}

int run(int argc, char** argv) {
  Arguments a;
  CLI::App app{"Reports on result files", "report"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "report " + result::version_text());
  CLI::App* show_command = app.add_subcommand("show", "Print one run for people (the default: report FILE)");
  show_command->add_option("file", a.file, "Result file of a run")->required();
  show_command->add_option("--format", a.format, "text or md (Markdown)")->check(CLI::IsMember({"text", "md"}));
  show_command->add_option("--width", a.width, "Columns of the text; by default the terminal's");
  CLI::App* ablations_command = app.add_subcommand("ablations", "What techniques are worth: effect, interval, finding, cause of each comparison");
  ablations_command->add_option("files", a.files, "Result files of ablate")->required();
  ablations_command->add_option("--format", a.format, "text or md (Markdown)")->check(CLI::IsMember({"text", "md"}));
  ablations_command->add_option("--width", a.width, "Columns of the text; by default the terminal's");
  CLI::App* compare_command = app.add_subcommand("compare", "Results side by side, each with its ratio to the first: two machines, two commits");
  compare_command->add_option("files", a.files, "Result files; the first is what the others are compared with")->required();
  compare_command->add_option("--format", a.format, "text or md (Markdown)")->check(CLI::IsMember({"text", "md"}));
  compare_command->add_option("--width", a.width, "Columns of the text; by default the terminal's");
  CLI::App* recover_command = app.add_subcommand("recover", "Make a result of the journal that a killed run left");
  recover_command->add_option("journal", a.file, "Folder <result>.journal, or one rank's file in it")->required();
  recover_command->add_option("--out", a.out, "Result file to write")->required();
  recover_command->add_flag("--force", a.force, "Replace it where it exists");
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
  if (show_command->parsed()) show(a);
  if (ablations_command->parsed()) return ablations(a);
  if (compare_command->parsed()) return compare(a);
  if (recover_command->parsed()) recover(a);
  return 0;
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
