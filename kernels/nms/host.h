// Greedy NMS, shared by proposals and detections.
#pragma once

#include <cstdint>

#include "kernels/nms/host_loops.h"
#include "kernels/common/score_key.h"

namespace ttt::kernels::host {

// boxes: [n, 4] in descending order of score. Stops after `most` kept. Returns how many; keep[i] is an index into
// boxes.
std::int64_t greedy_nms(std::int64_t n, const float* boxes, const Suppression& s, std::int64_t most, KeptBoxes& kept,
                        std::int32_t* keep);

}  // namespace ttt::kernels::host
