#include "app/tool.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <vector>

#include "core/error.h"
#include "core/nearest.h"

namespace ttt {
namespace {

int fail(const CLI::App& app, const std::string& sentence, int exit_code) {
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), sentence.c_str());
  return exit_code;
}

}  // namespace

std::string explain_usage(const CLI::App& app, const CLI::ParseError& error, const std::string& positional) {
  const std::string text = error.what();
  if (!dynamic_cast<const CLI::ExtrasError*>(&error)) return text + ". --help lists all arguments.";
  const std::vector<std::string> left = app.remaining();
  const std::string argument = left.empty() ? text.substr(text.rfind(' ') + 1) : left.front();
  if (!argument.starts_with("-")) return "Unexpected argument '" + argument + "'. " + positional;
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->get_name().starts_with("-")) names.push_back(option->get_name());
  const std::string close = nearest(argument.substr(0, argument.find('=')), names);
  return "Unknown argument '" + argument + "'. The nearest is '" + close + "'; --help lists all.";
}

int run_tool(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  // A file-size limit is then an error of write(), with a message and a cleaned folder, instead of a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) { return fail(app, explain_usage(app, e), 2); } catch (const Error& e) {
    return fail(app, e.what(), e.exit_code());
  } catch (const std::exception& e) { return fail(app, e.what(), 1); }
}

}  // namespace ttt
