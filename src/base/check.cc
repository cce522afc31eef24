#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace gyre {

void check_failed(const char* fact, const char* file, int line) {
  std::fprintf(stderr, "gyre: broken invariant '%s' at %s:%d; this is a bug in gyre\n", fact, file,
               line);
  std::abort();
}

}  // namespace gyre
