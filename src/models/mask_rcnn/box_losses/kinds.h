// The choices of model.rpn.box_loss and model.roi.box_loss.
// To add one: a line here, and <kind>.cc beside with <kind>_sum (box_loss.h).
#pragma once

#define TTT_BOX_LOSSES(X)                                                               \
  X(smooth_l1, "of the deltas, as Fast R-CNN")                                          \
  X(giou, "of the boxes: 1 - IoU, and the share of their hull that neither covers")     \
  X(diou, "1 - IoU, and the distance of the centres over the hull's diagonal, squared") \
  X(ciou, "diou, and the difference of the aspect ratios")
