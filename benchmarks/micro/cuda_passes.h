// Kernels of micro_cuda that pass over large memory: parameters, and activations of backbone and mask head.
#pragma once

namespace ttt::micro {

void add_passes();

}  // namespace ttt::micro
