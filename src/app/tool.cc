#include "app/tool.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <vector>

#include "core/error.h"
#include "core/nearest.h"

namespace ttt {

std::string explain_usage(const CLI::App& app, const CLI::ParseError& error, const std::string& positional) {
  const std::string text = error.what();
  if (!dynamic_cast<const CLI::ExtrasError*>(&error)) return text + ". --help lists all arguments.";
  const std::vector<std::string> left = app.remaining();
  const std::string argument = left.empty() ? text.substr(text.rfind(' ') + 1) : left.front();
  if (!argument.starts_with("-")) return "Unexpected argument '" + argument + "'. " + positional;
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->get_name().starts_with("-")) names.push_back(option->get_name());
  return "Unknown argument '" + argument + "'." +
         nearest_and(argument.substr(0, argument.find('=')), names, "--help lists all.");
}

int run_tool(CLI::App& app, int argc, char** argv, const std::function<harness::Answer(const Start& start)>& run) {
  // A file-size limit is then an error of write(), with a message and a cleaned folder, instead of a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  bool started = false;
  const auto fail = [&](const std::string& sentence, int exit_code) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), sentence.c_str());
    if (started) harness::print_end({.verdict = result::Verdict::kFailed});
    return exit_code;
  };
  try {
    app.parse(argc, argv);
    const harness::Answer answer = run([&](const std::string& what) {
      harness::print_start(app.get_name(), what);
      started = true;
    });
    harness::print_end(answer);
    return answer.exit_code;
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) { return fail(explain_usage(app, e), 2); } catch (const Error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::exception& e) { return fail(e.what(), 1); }
}

}  // namespace ttt
