// The GPUs that this process may use, as the CUDA driver counts them, and which of them a rank takes. No context is
// made, no CUDA library is needed.
#pragma once

#include <string>
#include <vector>

namespace ttt::cuda {

// PCI bus ids ("0000:65:00.0") in the driver's order, of those that CUDA_VISIBLE_DEVICES leaves. Throws NotSupported
// where there is no driver or it finds none.
std::vector<std::string> visible_devices();

// The place in that list of the GPU that a rank computes on: the only one, as Slurm's --gpus-per-task arranges it, else
// the one of its place on the node. Whether ranks that see one GPU each see the same one, they do not know: the
// preflight looks, and NCCL refuses it. Throws NotSupported where there are fewer than ranks.
int device_of_rank(int devices, int local_rank, int local_size);

}  // namespace ttt::cuda
