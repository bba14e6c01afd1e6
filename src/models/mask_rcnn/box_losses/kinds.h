// The choices of model.rpn.box_loss and model.roi.box_loss.
// To add one: a line here, and <kind>.cc beside with <kind>_sum (box_loss.h).
#pragma once

#define TTT_BOX_LOSSES(X) X(smooth_l1, "of the deltas, as Fast R-CNN")
