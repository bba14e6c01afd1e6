// ttt_maskrcnn that writes down which images each step was given: "step image image ..." into $TTT_TEST_ORDER.<rank>,
// taken from the batch that reaches the model. With $TTT_TEST_OWN_PARTS it trains with tests/train/own_parts.h.
// tests/checkpoint/checkpoint.py looks at what runs on different numbers of ranks were given.
#include <cstdlib>
#include <fstream>

#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "run/train_program.h"
#include "tests/train/own_parts.h"

namespace {

using namespace ttt;

class Recording final : public train::Step {
 public:
  Recording(std::unique_ptr<train::Step> step, const std::string& path)
      : step_(std::move(step)), file_(path, std::ios::app) {}
  std::vector<train::Stage> stages(train::StepState& s) override {
    const model::DeviceBatch& batch = s.inputs.batch;
    file_ << batch.draw.const_data_ptr<std::int64_t>()[1];
    for (std::int64_t i = 0; i < batch.image_id.numel(); ++i)
      file_ << " " << batch.image_id.const_data_ptr<std::int64_t>()[i];
    file_ << std::endl;
    return step_->stages(s);
  }
  result::Json describe() const override { return step_->describe(); }

 private:
  std::unique_ptr<train::Step> step_;
  std::ofstream file_;
};

// Records what the recipe's step is given, and with $TTT_TEST_OWN_PARTS exchanges other components.
void change(Components& components) {
  if (std::getenv("TTT_TEST_OWN_PARTS")) test::use_own_parts(components);
  components.step.replace("order_probe", [step = components.step](Run& run) {
    const std::string path = std::string(std::getenv("TTT_TEST_ORDER")) + "." + std::to_string(run.control->rank());
    return std::make_unique<Recording>(step.make(run), path);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return train_program(argc, argv,
      {.name = "order_probe",
          .summary = "Writes down the order of images.",
          .workload = eval::mask_rcnn(),
          .recipes = embedded_recipes(),
          .components = change});
}
