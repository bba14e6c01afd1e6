// Initial weights of a backbone that a recipe's own training makes, where there are no published ones.
#pragma once

#include "run/assemble.h"

namespace ttt {

// Trainings that start from one backbone stay nearer to one another than those from random weights: differences grow
// most in the first steps (Frankle et al. 2020, "Linear Mode Connectivity and the Lottery Ticket Hypothesis"). Mask
// R-CNN starts from a backbone trained on ImageNet for that reason too.
//
// Whether train.pretraining names a recipe, and no other weights are given.
bool is_pretrained(const train::Recipe& recipe);

// The weights file of that recipe, with the architecture of this one's backbone. Trains it where the cache folder has
// no such file, on this process alone and on generated images. Throws UsageError for an unknown recipe, and for one
// that is pretrained itself.
std::string pretrained_backbone(const train::Recipe& recipe, const harness::RunContext& context);

// The backbone of rank 0's file `path` on every rank; collective.
void load_backbone(const std::string& path, model::ParameterStore& store, comm::Communicator& control);

}  // namespace ttt
