// Byte sizes and durations as text: "512K", "4M", "1.5G"; "250ms", "5s", "2m".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gyre {

constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }

// Steady time and spans, nanoseconds.
using Nanos = std::int64_t;
constexpr Nanos operator""_ms(unsigned long long n) { return static_cast<Nanos>(n) * 1'000'000; }
constexpr Nanos operator""_s(unsigned long long n) { return static_cast<Nanos>(n) * 1'000'000'000; }

// Digits with an optional binary suffix K M G T (i and B allowed after it: "4MiB"). No sign, no
// overflow; at most one fraction ("1.5G").
Result<std::uint64_t> parse_bytes(std::string_view text);
std::string bytes_text(std::uint64_t bytes);

// Digits with ns us ms s m h; a bare number means seconds. "0" means no limit where a limit is
// asked.
Result<Nanos> parse_duration(std::string_view text);
std::string duration_text(Nanos span);

}  // namespace gyre
