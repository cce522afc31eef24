#include "core/pmix.h"

#include "base/thread.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>

namespace gyre {

namespace {

// The part of PMIx's published ABI (versions 3 to 5) that one exchange needs.
struct PmixProc {
  char nspace[256] = {};
  std::uint32_t rank = 0;
};
struct PmixValue {
  std::uint16_t type = 0;
  union {
    char* string;
    char room[56];  // at least what the library's largest member takes
  };
};
static_assert(sizeof(PmixProc) == 260);
static_assert(offsetof(PmixValue, string) == 8);

constexpr std::uint16_t kPmixString = 3;
constexpr std::uint8_t kPmixGlobal = 3;
constexpr int kPmixSuccess = 0;

struct Library {
  int (*init)(PmixProc*, void*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, const char*, PmixValue*) = nullptr;
  int (*commit)() = nullptr;
  int (*fence)(const PmixProc*, std::size_t, const void*, std::size_t) = nullptr;
  int (*get)(const PmixProc*, const char*, const void*, std::size_t, PmixValue**) = nullptr;
  int (*finalize)(const void*, std::size_t) = nullptr;
  const char* (*error_text)(int) = nullptr;
};

template <class F>
bool find(void* handle, const char* name, F& into) {
  into = reinterpret_cast<F>(::dlsym(handle, name));
  return into != nullptr;
}

Result<Library> load() {
  // Never closed: it has threads of its own.
  void* handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return error(Code::system,
                 "the launcher offers PMIx, but {}; set GYRE_ROOT=host:port of rank 0",
                 ::dlerror());
  Library out;
  if (find(handle, "PMIx_Init", out.init) && find(handle, "PMIx_Put", out.put) &&
      find(handle, "PMIx_Commit", out.commit) && find(handle, "PMIx_Fence", out.fence) &&
      find(handle, "PMIx_Get", out.get) && find(handle, "PMIx_Finalize", out.finalize) &&
      find(handle, "PMIx_Error_string", out.error_text))
    return out;
  return error(Code::system, "libpmix.so.2 lacks a function: {}", ::dlerror());
}

Result<std::string> exchange(const std::string& key, std::string value) {
  const Library pmix = GYRE_TRY(load());
  const auto failed = [&](const char* call, int code) {
    return error(Code::system, "{} answered '{}'", call, pmix.error_text(code));
  };
  PmixProc me;
  if (int code = pmix.init(&me, nullptr, 0); code != kPmixSuccess) return failed("PMIx_Init", code);
  if (!value.empty()) {
    PmixValue text;
    text.type = kPmixString;
    text.string = value.data();
    if (int code = pmix.put(kPmixGlobal, key.c_str(), &text); code != kPmixSuccess)
      return failed("PMIx_Put", code);
    if (int code = pmix.commit(); code != kPmixSuccess) return failed("PMIx_Commit", code);
  }
  PmixProc everyone = me;
  everyone.rank = UINT32_MAX - 1;  // PMIX_RANK_WILDCARD
  if (int code = pmix.fence(&everyone, 1, nullptr, 0); code != kPmixSuccess)
    return failed("PMIx_Fence", code);
  PmixProc giver = me;
  giver.rank = 0;
  PmixValue* got = nullptr;
  if (int code = pmix.get(&giver, key.c_str(), nullptr, 0, &got); code != kPmixSuccess)
    return failed("PMIx_Get", code);
  if (got->type != kPmixString) return error(Code::system, "PMIx_Get gave type {}", got->type);
  std::string out = got->string;
  std::free(got->string);
  std::free(got);
  // Nobody may leave before all have fetched; PMIx counts inits, so an MPI library stays connected.
  if (int code = pmix.finalize(nullptr, 0); code != kPmixSuccess)
    return failed("PMIx_Finalize", code);
  return out;
}

}  // namespace

Result<std::string> pmix_exchange(const std::string& key, const std::string& value,
                                  Nanos deadline) {
  // PMIx calls take no deadline: a thread makes them, and is left behind if they never return.
  std::packaged_task<Result<std::string>()> task([key, value] { return exchange(key, value); });
  std::future<Result<std::string>> answer = task.get_future();
  std::thread thread = GYRE_TRY(start_thread("PMIx", std::move(task)));
  thread.detach();
  if (deadline == kNever) return answer.get();
  const auto left = std::chrono::nanoseconds(std::max<Nanos>(0, deadline - now_ns()));
  if (answer.wait_for(left) == std::future_status::ready) return answer.get();
  return error(Code::timeout, "PMIx does not complete the exchange of '{}'", key);
}

}  // namespace gyre
