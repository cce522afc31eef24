// Results and errors. Knows codes and a chain of context. Does not know who logs: the first decider
// does. An Error is born where the cause is known and gains ", while ..." on its way up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace gyre {

// Numbers equal gyreResult_t (asserted in src/api/gyre.cc).
enum class Code : int {
  ok = 0,
  cuda = 1,
  system = 2,
  internal = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote = 6,
  in_progress = 7,
  timeout = 8,
  aborted = 9,
};

const char* to_text(Code code);

// One failure: what kind, whose fault (rank, -1 when nobody's), and the sentence a user reads.
struct [[nodiscard]] Error {
  Code code = Code::internal;
  int rank = -1;
  std::string text;

  // Adds the system's reason: "connect to rank 7: Connection refused".
  Error&& because(int errno_value) &&;
  // Adds what was being attempted: "..., while opening channel 3".
  Error&& context(std::string doing) &&;
  // Names the rank that is the cause.
  Error&& blame(int culprit) &&;
};

template <class... Args>
Error error(Code code, fmt::format_string<Args...> form, Args&&... args) {
  return Error{code, -1, fmt::format(form, std::forward<Args>(args)...)};
}

// Either a value or an Error. Failure is the slow path: it costs one allocation.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                               // NOLINT: implicit
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const Error& error() const { return *error_; }
  Error take_error() { return std::move(*error_); }

 private:
  std::optional<T> value_;
  std::unique_ptr<Error> error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit
  explicit operator bool() const { return error_ == nullptr; }
  const Error& error() const { return *error_; }
  Error take_error() { return std::move(*error_); }

 private:
  std::unique_ptr<Error> error_;
};

using Status = Result<void>;

namespace detail {
template <class T>
T unwrap(Result<T>&& result) {
  return *std::move(result);
}
inline void unwrap(Status&&) {}
}  // namespace detail

// Value of `expression`, or return its Error from the calling function.
#define GYRE_TRY(expression)                                   \
  ({                                                           \
    auto gyre_try_result = (expression);                       \
    if (!gyre_try_result) return gyre_try_result.take_error(); \
    ::gyre::detail::unwrap(std::move(gyre_try_result));        \
  })

// The same, adding what was being attempted.
#define GYRE_TRY_WHILE(expression, ...)                                                          \
  ({                                                                                             \
    auto gyre_try_result = (expression);                                                         \
    if (!gyre_try_result) return gyre_try_result.take_error().context(fmt::format(__VA_ARGS__)); \
    ::gyre::detail::unwrap(std::move(gyre_try_result));                                          \
  })

}  // namespace gyre
