#include "core/memory.h"

#include "transport/region.h"

namespace gyre {

Result<void*> allocate_memory(std::size_t bytes) {
  std::byte* const memory = GYRE_TRY(allocate_region(bytes));
  return static_cast<void*>(memory);
}

Status free_memory(void* memory) { return free_region(memory); }

}  // namespace gyre
