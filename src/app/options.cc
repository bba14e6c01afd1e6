#include "app/options.h"

#include <CLI/CLI.hpp>

#include "app/tool.h"
#include "core/error.h"

namespace ttt::harness {
Options parse_options(int argc, const char* const* argv, const std::string& program, const std::string& summary,
    const std::string& inject_help, bool has_doctor) {
  Options o;
  CLI::App app{summary, program};
  app.set_help_flag();  // --help is ours: a rank that prints is the caller's choice
  bool help = false;
  app.add_flag("--help,-h", help, "This text");
  app.add_option("--recipe", o.recipe,
         "Recipe: a TOML file, a result whose run is repeated, or the name of one that comes with the suite")
      ->type_name("FILE|NAME");
  app.add_option("--set", o.set, "Override one setting of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--out", o.out, "Result file; by default <program>-<time>-<run>.json here")->type_name("FILE");
  app.add_flag("--force", o.force, "Replace the result file where there is one");
  app.add_option("--seed", o.seed, "Seed of every random choice")->type_name("N");
  app.add_option("--device", o.device, "Where to compute")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda");
  app.add_option("--data", o.data, "Folder of packed shards")->type_name("DIR");
  if (!inject_help.empty())
    app.add_option("--inject", o.inject, inject_help)->type_name("FAULT")->expected(1)->take_all();
  app.add_flag("--quiet", o.quiet, "No progress; the first and the last lines on stdout stay");
  app.add_flag("--print-recipe", o.print_recipe, "Print the resolved recipe as TOML and end");
  if (has_doctor)
    app.add_flag("--doctor", o.doctor, "Name what of recipe, build and machine costs time without need, and end");
  app.add_flag("--version", o.version, "Print the version and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    throw UsageError(explain_usage(app, e, "Settings are given as --set key=value; --help lists all arguments."));
  }
  if (help) o.help = app.help();
  return o;
}

}  // namespace ttt::harness
