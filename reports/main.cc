// report FILE, report show FILE: one run for people. report recover JOURNAL --out FILE: a result from the journal of a
// run that was killed.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "reports/show.h"
#include "result/journal.h"
#include "result/provenance.h"
#include "result/result_file.h"

namespace {

using namespace ttt;

struct Arguments {
  std::string file, format = "text", out;
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

void show(const Arguments& a) {
  const reports::Document document = reports::show_run(result::read_result(a.file));
  const std::size_t width = a.width ? a.width : terminal_width();
  print(a.format == "md" ? reports::render_markdown(document)
                         : reports::render_text(document, std::max<std::size_t>(20, width)));
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
    return w == "show" || w == "recover" || w == "--help" || w == "-h" || w == "--version";
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
