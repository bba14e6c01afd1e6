#include "app/options.h"

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/nearest.h"

namespace ttt::harness {
namespace {

// What CLI11 found wrong, in our words: it says "The following argument was not expected: --sed" and no remedy.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  if (const auto* extra = dynamic_cast<const CLI::ExtrasError*>(&error)) {
    static_cast<void>(extra);
    const std::vector<std::string> left = app.remaining();
    const std::string argument = left.empty() ? text.substr(text.rfind(' ') + 1) : left.front();
    if (argument.starts_with("-"))
      return "Unknown argument '" + argument + "'. The nearest is '" +
             nearest(argument.substr(0, argument.find('=')), names) + "'; --help lists all.";
    return "Unexpected argument '" + argument + "'. Settings are given as --set key=value; --help lists all arguments.";
  }
  return text + ". --help lists all arguments.";
}

}  // namespace

Options parse_options(int argc, const char* const* argv, const std::string& program, const std::string& summary, const std::string& inject_help) {
  Options o;
  CLI::App app{summary, program};
  app.set_help_flag();  // --help is ours: a rank that prints is the caller's choice
  bool help = false;
  app.add_flag("--help,-h", help, "This text");
  app.add_option("--recipe", o.recipe, "Recipe: a TOML file or the name of one that comes with the suite")
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
  if (!inject_help.empty()) app.add_option("--inject", o.inject, inject_help)->type_name("FAULT")->expected(1)->take_all();
  app.add_flag("--quiet", o.quiet, "No progress; errors only");
  app.add_flag("--print-recipe", o.print_recipe, "Print the resolved recipe as TOML and end");
  app.add_flag("--version", o.version, "Print the version and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    throw UsageError(explain(app, e));
  }
  if (help) o.help = app.help();
  return o;
}

}  // namespace ttt::harness
