#include "run/resume.h"

namespace ttt {

void find_earlier_run(harness::App<train::Recipe>& app, train::Earlier& earlier) {
  app.resumes = [&earlier](const train::Recipe& recipe) -> std::optional<std::string> {
    const train::CheckpointConfig& config = recipe.train.checkpoint;
    if (config.folder.empty() && config.from.empty()) return std::nullopt;
    earlier = train::find_earlier(config);
    return earlier.checkpoint ? earlier.checkpoint->state.run_id : "";
  };
}

Start start_of(const train::Earlier& earlier, const harness::RunContext& context) {
  std::string text;
  if (earlier.checkpoint)
    text = std::to_string(earlier.checkpoint->state.step) + " " + earlier.checkpoint->state.recipe.at("seed").dump();
  text = context.launch.from_root(text);
  if (text.empty()) return {};
  std::size_t end = 0;
  const std::int64_t step = std::stoll(text, &end);
  return {.resumed = true, .step = step, .seed = std::stoll(text.substr(end))};
}

}  // namespace ttt
