#include "core/process.h"

#include <unistd.h>

#include <mutex>

#include <sodium.h>

namespace gyre {

std::uint64_t process_nonce() {
  static std::mutex mutex;
  static pid_t owner = 0;
  static std::uint64_t nonce = 0;
  std::lock_guard lock(mutex);
  if (owner != getpid()) {
    owner = getpid();
    randombytes_buf(&nonce, sizeof nonce);
  }
  return nonce;
}

}  // namespace gyre
