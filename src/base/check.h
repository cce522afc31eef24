// Invariants. GYRE_CHECK is always on (control plane); GYRE_DCHECK only in debug builds (inner
// loops). A failed check is a bug of ours, never of the user: it says where and stops the process.
#pragma once

namespace gyre {

[[noreturn]] void check_failed(const char* fact, const char* file, int line);

}  // namespace gyre

#define GYRE_CHECK(fact)                                  \
  (__builtin_expect(static_cast<bool>(fact), 1) ? (void)0 \
                                                : ::gyre::check_failed(#fact, __FILE__, __LINE__))

#ifdef NDEBUG
#define GYRE_DCHECK(fact) ((void)0)
#else
#define GYRE_DCHECK(fact) GYRE_CHECK(fact)
#endif
