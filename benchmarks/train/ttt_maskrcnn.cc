// Trains Mask R-CNN to a target accuracy and reports how long that took and why: mpirun -n 32 ./ttt_maskrcnn
#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "run/train_program.h"

int main(int argc, char** argv) {
  return ttt::train_program(argc, argv,
      {.name = "ttt_maskrcnn",
          .summary = "Trains Mask R-CNN to a target accuracy and reports how long that took and why.",
          .workload = ttt::eval::mask_rcnn(),
          .recipes = ttt::embedded_recipes()});
}
