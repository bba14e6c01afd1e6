// Marks functions that CUDA kernels and the host share.
#pragma once

#ifdef __CUDACC__
#define TTT_HD __host__ __device__
#else
#define TTT_HD
#endif
