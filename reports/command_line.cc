#include "reports/command_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/text.h"
#include "core/whole_file.h"
#include "reports/data_tables.h"
#include "result/result_file.h"

namespace ttt::reports {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long value = columns ? std::strtol(columns, nullptr, 10) : 0;
  return value > 0 ? static_cast<std::size_t>(value) : 100;
}

// A terminal that knows colours, whose user did not say no to them (no-color.org).
bool is_coloured() {
  const char *term = std::getenv("TERM"), *no = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && term && *term && std::string(term) != "dumb" && !(no && *no);
}

// "reducer-what-is-overlap-worth": of a name what every file system takes.
std::string file_name(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  out = out.substr(0, 60);
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "table" : out;
}

void write_tables(const std::vector<DataTable>& tables, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const DataTable& t : tables) write_whole_file(folder + "/" + file_name(t.name) + ".csv", render_csv({t}));
}

std::string csv_of(const std::vector<DataTable>& tables) {
  if (share_columns(tables)) return render_csv(tables);
  std::string names;
  for (const DataTable& t : tables) names += (names.empty() ? "'" : ", '") + t.name + "'";
  throw UsageError("This report has tables of different columns, which one CSV cannot hold: " + names +
                   ". Choose one with --table NAME, or write each to a file of its own with --folder FOLDER.");
}

}  // namespace

void add_output_options(CLI::App& command, Output& output) {
  CLI::Option* format =
      command
          .add_option("--format", output.format,
              "text, md (Markdown), csv or json: the last two have numbers unrounded, and their units")
          ->check(CLI::IsMember({"text", "md", "csv", "json"}));
  command.add_option("--width", output.width, "Columns of the text; by default the terminal's");
  command.add_option("--table", output.table, "Print one table alone: its heading, or the heading's first words");
  command.add_option("--folder", output.folder, "Write each table as a CSV file into this folder")->excludes(format);
}

CLI::Option* add_files(CLI::App& command, FilesArguments& a, const std::string& what) {
  CLI::Option* files = command.add_option("files", a.files, what)->required();
  command
      .add_option("--label", a.labels,
          "What to call the machine: NAME, or FILE=NAME or FOLDER=NAME for the results of one; repeat it for several")
      ->allow_extra_args(false);
  return files;
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("Cannot write to standard output. Free the disk or the pipe that it goes to.");
}

void print(const Document& document, const Output& output) {
  const Document shown = output.table.empty() ? document : part_of(document, output.table);
  if (!output.folder.empty()) return write_tables(data_tables(shown), output.folder);
  const std::size_t width = output.width ? output.width : terminal_width();
  if (output.format == "csv") print(csv_of(data_tables(shown)));
  else if (output.format == "json") print(render_json(shown));
  else if (output.format == "md") print(render_markdown(shown));
  else print(render_text(shown, std::max<std::size_t>(20, width), is_coloured()));
}

void name_left_out(const Inputs& inputs) {
  for (const LeftOut& l : inputs.left_out)
    std::fprintf(stderr, "report: left out '%s': %s\n", l.name.c_str(), l.reason.c_str());
}

Inputs read_files(const FilesArguments& a) {
  Inputs all = read_inputs(a.files);
  name_left_out(all);
  std::vector<NamedRun*> runs;
  for (ResultFile& r : all.results) runs.push_back(&r.run);
  label_machines(runs, a.labels);
  return all;
}

Runs read_runs(const FilesArguments& a) {
  Inputs inputs = read_files(a);
  Runs all{.exit_code = inputs.exit_code()};
  for (ResultFile& r : inputs.results) all.runs.push_back(std::move(r.run));
  for (const BenchInput& b : inputs.benches) {
    if (std::find(a.files.begin(), a.files.end(), b.file.name) == a.files.end()) continue;  // of a folder
    std::fprintf(
        stderr, "report: left out '%s': It holds micro-benchmarks. 'report bench' prints them.\n", b.file.name.c_str());
    all.exit_code = std::max(all.exit_code, 2);
  }
  return all;
}

void leave_out(Runs& all, std::string (*reason)(const NamedRun&)) {
  std::erase_if(all.runs, [&](const NamedRun& run) {
    const std::string why = reason(run);
    if (why.empty()) return false;
    std::fprintf(stderr, "report: left out '%s': %s\n", run.name.c_str(), why.c_str());
    all.exit_code = 2;
    return true;
  });
}

NamedLog read_log(const std::string& file) { return {file, result::parse_mllog(result::read_text(file))}; }

Mixed read_mixed(const FilesArguments& a) {
  Mixed all;
  for (const std::string& file : a.files) {
    try {
      const std::string text = result::read_text(file);
      if (text.find(result::kMllogToken) != std::string::npos && text.find_first_not_of(" \t\r\n") != text.find('{')) {
        const NamedLog log{file, result::parse_mllog(text)};
        series_of_logs({log});  // refuses what is no log of a run
        all.inputs.logs.push_back(log);
      } else if (const result::Json document = result::parse(text, result::quote(file)); is_published(document)) {
        for (Series& s : series_of_published(document, file)) all.inputs.published.push_back(std::move(s));
      } else {
        all.inputs.runs.push_back({file, result::parse_result(text, result::quote(file))});
      }
    } catch (const Error& e) {
      std::fprintf(stderr, "report: left out '%s': %s\n", file.c_str(), e.what());
      all.exit_code = e.exit_code();
    }
  }
  std::vector<NamedRun*> runs;
  for (NamedRun& run : all.inputs.runs) runs.push_back(&run);
  label_machines(runs, a.labels);
  return all;
}

void write_page(const std::string& path, const std::string& text, bool force) {
  if (!force && std::filesystem::exists(path))
    throw UsageError("'" + path + "' exists already. Replace it with --force, or name another file with --out.");
  write_whole_file(path, text);
}

}  // namespace ttt::reports
