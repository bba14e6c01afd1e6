// Trains the workload of one convolution.
#include "models/first_object/workload.h"
#include "run/train_program.h"

int main(int argc, char** argv) {
  const ttt::first_object::FirstObject workload;
  return ttt::train_program(argc, argv,
      {.name = "ttt_first_object",
          .summary = "Learns which category the first object of an image has.",
          .workload = workload,
          .recipes = {{"default",
              "data.short_side = 64\ndata.long_side = 64\ntrain.global_batch = 8\ntrain.epochs = 2\n"
              "train.schedule.warmup_steps = 0\n"}}});
}
