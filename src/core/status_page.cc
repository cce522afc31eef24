#include "core/status_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace gyre {

StatusPage::StatusPage(std::uint64_t comm, int rank, int size, const std::string& name) {
  fd_.reset(memfd_create(kStatusName, MFD_CLOEXEC));
  if (fd_ && ftruncate(fd_.get(), 4096) == 0) {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (page != MAP_FAILED) {
      mapping_ = Mapping(page, 4096);
      words_ = reinterpret_cast<StatusWords*>(mapping_.data());
    }
  }
  words_->comm = comm;
  words_->pid = getpid();
  words_->rank = rank;
  words_->size = size;
  words_->waits_for = -1;
  std::memcpy(words_->name, name.data(), std::min(name.size(), sizeof words_->name - 1));
  gethostname(words_->hostname, sizeof words_->hostname - 1);
  std::atomic_ref(words_->magic).store(kStatusMagic, std::memory_order_release);
}

void StatusPage::wait_for(int rank, Nanos since) {
  std::atomic_ref(words_->waits_for).store(rank, std::memory_order_relaxed);
  std::atomic_ref(words_->started_ns).store(since, std::memory_order_relaxed);
}

}  // namespace gyre
