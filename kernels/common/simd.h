// Inner loops compiled for several instruction sets, the best one chosen once at run time.
//
// One body (<name>.inc) is included by simd_variants.inc into the namespaces base, avx2 and avx512, each under its own
// `#pragma GCC target`. target_clones would do the same through ifuncs, whose resolvers run before the sanitizers'
// run time is set up; -march=native would tie a binary to the machine that built it.
#pragma once

namespace ttt::kernels::host {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TTT_SIMD_X86 1
#else
#define TTT_SIMD_X86 0
#endif

enum class Isa { kBase, kAvx2, kAvx512 };

// The best that this CPU has.
inline Isa best_isa() {
#if TTT_SIMD_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("fma"))
    return Isa::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kBase;
}

}  // namespace ttt::kernels::host
