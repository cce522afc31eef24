#include "base/unique.h"

#include <sys/mman.h>
#include <unistd.h>

namespace gyre {

void Fd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

void Mapping::reset() {
  if (address_) munmap(address_, bytes_);
  address_ = nullptr;
  bytes_ = 0;
}

}  // namespace gyre
