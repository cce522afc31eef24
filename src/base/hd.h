// Compilers and processors: the few things that differ, each under one name.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gyre {

// Tells the core that this is a spin loop.
inline void cpu_pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace gyre
