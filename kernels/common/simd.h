// Inner loops compiled for several instruction sets, the best one chosen at run time.
//
// simd_variants.inc includes one body (host_simd.inc) into the namespaces base, avx2 and avx512, each under its own
// `#pragma GCC target`. target_clones would do the same through ifuncs, whose resolvers run before the sanitizers'
// run time is set up; -march=native would tie a binary to the machine that built it.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TTT_SIMD_X86 1
#else
#define TTT_SIMD_X86 0
#endif

// The variant of `loop` for an instruction set, in a file that includes simd_variants.inc.
#if TTT_SIMD_X86
#define TTT_PICK(isa, loop) pick(isa, base::loop, avx2::loop, avx512::loop)
#else
#define TTT_PICK(isa, loop) pick(isa, base::loop, base::loop, base::loop)
#endif

namespace ttt::kernels::host {

enum class Isa { kBase, kAvx2, kAvx512 };

// The best instruction set of this CPU.
inline Isa best_isa() {
#if TTT_SIMD_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("fma"))
    return Isa::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kBase;
}

template <class Loop>
Loop pick(Isa isa, Loop base, Loop avx2, Loop avx512) {
  return isa == Isa::kAvx512 ? avx512 : (isa == Isa::kAvx2 ? avx2 : base);
}

}  // namespace ttt::kernels::host
