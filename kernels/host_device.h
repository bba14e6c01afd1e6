// Marks mathematics that a CUDA kernel and its host twin share.
#pragma once

#ifdef __CUDACC__
#define TTT_HD __host__ __device__
#else
#define TTT_HD
#endif
