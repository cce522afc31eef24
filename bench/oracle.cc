#include "bench/oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace perf {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A rank's own draw from an index's hash: one multiplication, since every rank's is needed.
std::uint64_t draw_of(std::uint64_t hash, int rank) {
  std::uint64_t x = hash + static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}

// Products carry an exponent in [-4, 4] and a sign in one step number.
constexpr int kProductRanks = 4;
double product_value(std::int64_t step) {
  return std::ldexp(step % 2 != 0 ? -1.0 : 1.0, static_cast<int>(step / 2) - kProductRanks);
}

std::uint64_t encode_for(const TypeInfo& type, double value) {
  if (type.id == gyreFloat64) return std::bit_cast<std::uint64_t>(value);
  return encode_float(value, type.exponent_bits, type.mantissa_bits);
}

// Position on the number line in units of the last place; both zeros alike.
std::int64_t place_of(std::uint64_t bits, std::uint64_t mask) {
  const std::uint64_t sign = mask ^ (mask >> 1);
  const auto size = static_cast<std::int64_t>(bits & (mask >> 1));
  return (bits & sign) != 0 ? -size : size;
}

std::uint64_t load(const std::byte* at, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

template <class Word, class Draw>
void write_words(void* out, std::size_t count, const Draw& draw) {
  auto* bytes = static_cast<std::byte*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = static_cast<Word>(draw(i));
    std::memcpy(bytes + i * sizeof(Word), &word, sizeof(Word));
  }
}

}  // namespace

std::uint64_t encode_float(double value, int exponent_bits, int mantissa_bits) {
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  if (value == 0) return sign;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  // The hidden bit of a normal number adds one to the exponent field, and so does a round-up to the
  // next power of two: addition gets both right, and subnormals too.
  const double steps = std::nearbyint(std::ldexp(std::fabs(value), mantissa_bits - exponent));
  return sign + (static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits) +
         static_cast<std::uint64_t>(steps);
}

Oracle::Oracle(const TypeInfo& type, Op op, int ranks, std::uint64_t seed)
    : type_(type),
      op_(op),
      ranks_(ranks),
      seed_(mix(seed + 1)),
      mask_(type.bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * type.bytes)) - 1) {
  if (type.kind != Kind::real) return;
  const int exact = type.mantissa_bits >= 10 ? kStepsMax : 1 << (type.mantissa_bits + 1);
  const int budget = op == Op::mulsum ? exact / 2 : exact;
  const bool adds = op == Op::sum || op == Op::avg || op == Op::mulsum;
  window_ = op == Op::prod ? kProductRanks : adds ? std::min(ranks, budget) : ranks;
  magnitude_ = adds ? std::max(1, budget / ranks) : exact;
  tolerance_ = op == Op::avg ? 2 : 0;
  for (int step = -kStepsMax; step <= kStepsMax; ++step) {
    const auto slot = static_cast<std::size_t>(step + kStepsMax);
    if (op == Op::prod) {
      if (step >= 0 && step <= 4 * kProductRanks + 1)
        operand_bits_[slot] = result_bits_[slot] = encode_for(type, product_value(step));
      continue;
    }
    if (std::abs(step) > exact) continue;
    operand_bits_[slot] = encode_for(type, step);
    double result = step;
    if (op == Op::avg && type.bytes == 8) result = step * (1.0 / ranks);
    if (op == Op::avg && type.bytes < 8)
      result = static_cast<float>(step) * (1.0f / static_cast<float>(ranks));
    result_bits_[slot] = encode_for(type, result);
  }
}

std::uint64_t Oracle::hash_of(std::size_t index) const { return mix(seed_ ^ index); }

bool Oracle::is_active(std::uint64_t hash, int rank) const {
  if (window_ >= ranks_) return true;
  const auto first = static_cast<int>((hash >> 40) % static_cast<unsigned>(ranks_));
  const int place = rank >= first ? rank - first : rank - first + ranks_;
  return place < window_;
}

// The step number of a rank's operand; for products 2 * (exponent + kProductRanks) + negative.
std::int64_t Oracle::step_of(std::uint64_t hash, int rank) const {
  const std::uint64_t draw = draw_of(hash, rank);
  const bool active = is_active(hash, rank);
  if (op_ == Op::prod) {
    if (!active) return 2 * kProductRanks;
    const auto exponent = static_cast<std::int64_t>(((draw & 0xffffffff) * 3) >> 32) - 1;
    return 2 * (exponent + kProductRanks) + static_cast<std::int64_t>(draw >> 63);
  }
  if (!active) return 0;
  const auto span = static_cast<std::uint64_t>(2 * magnitude_ + 1);
  return static_cast<std::int64_t>(((draw & 0xffffffff) * span) >> 32) - magnitude_;
}

std::uint64_t Oracle::operand(std::uint64_t hash, int rank) const {
  if (type_.kind == Kind::real)
    return operand_bits_[static_cast<std::size_t>(step_of(hash, rank) + kStepsMax)];
  const std::uint64_t draw = draw_of(hash, rank);
  if (type_.kind != Kind::boolean) return draw & mask_;
  // Over many ranks a fair coin would make every "and" false and every "or" true.
  const bool rare = (draw & 15) == 0;
  const bool all = op_ == Op::prod || op_ == Op::min || op_ == Op::band;
  return static_cast<std::uint64_t>(op_ == Op::bxor ? (draw & 1) != 0 : all ? !rare : rare);
}

std::int64_t Oracle::extended(std::uint64_t bits) const {
  const int unused = 64 - 8 * static_cast<int>(type_.bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::uint64_t Oracle::divided(std::uint64_t wrapped) const {
  const auto ranks = static_cast<std::uint64_t>(ranks_);
  if (type_.kind == Kind::uint) return (wrapped & mask_) / ranks;
  return static_cast<std::uint64_t>(extended(wrapped) / static_cast<std::int64_t>(ranks)) & mask_;
}

std::uint64_t Oracle::reduced_integer(std::uint64_t hash) const {
  const bool is_bool = type_.kind == Kind::boolean;
  std::uint64_t all = operand(hash, 0);
  if (op_ == Op::mulsum) all *= static_cast<std::uint64_t>(scalar_of(0));
  for (int rank = 1; rank < ranks_; ++rank) {
    const std::uint64_t one = operand(hash, rank);
    const bool below = type_.kind == Kind::sint ? extended(one) < extended(all) : one < all;
    switch (op_) {
      case Op::sum:
        all = is_bool ? (all | one) : all + one;
        break;
      case Op::avg:
        all += one;
        break;
      case Op::mulsum:
        all += one * static_cast<std::uint64_t>(scalar_of(rank));
        break;
      case Op::prod:
        all *= one;
        break;
      case Op::max:
        all = below ? all : one;
        break;
      case Op::min:
        all = below ? one : all;
        break;
      case Op::band:
        all &= one;
        break;
      case Op::bor:
        all |= one;
        break;
      case Op::bxor:
        all ^= one;
        break;
    }
  }
  return op_ == Op::avg ? divided(all) : all & mask_;
}

std::uint64_t Oracle::reduced_real(std::uint64_t hash) const {
  std::int64_t all = step_of(hash, 0) * (op_ == Op::mulsum ? scalar_of(0) : 1);
  for (int rank = 1; rank < ranks_; ++rank) {
    const std::int64_t one = step_of(hash, rank);
    switch (op_) {
      case Op::max:
        all = std::max(all, one);
        break;
      case Op::min:
        all = std::min(all, one);
        break;
      case Op::mulsum:
        all += one * scalar_of(rank);
        break;
      case Op::prod:  // exponents add, signs meet in the lowest bit
        all = 2 * ((all >> 1) + (one >> 1) - kProductRanks) + ((all ^ one) & 1);
        break;
      default:
        all += one;
    }
  }
  return result_bits_[static_cast<std::size_t>(all + kStepsMax)];
}

std::uint64_t Oracle::reduced(std::uint64_t hash) const {
  return type_.kind == Kind::real ? reduced_real(hash) : reduced_integer(hash);
}

template <class Draw>
void Oracle::write(void* out, std::size_t first, std::size_t count, const Draw& draw) const {
  const auto at = [&](std::size_t i) { return draw(hash_of(first + i)); };
  switch (type_.bytes) {
    case 1:
      return write_words<std::uint8_t>(out, count, at);
    case 2:
      return write_words<std::uint16_t>(out, count, at);
    case 4:
      return write_words<std::uint32_t>(out, count, at);
    default:
      return write_words<std::uint64_t>(out, count, at);
  }
}

template <class Draw>
std::int64_t Oracle::compare(const void* got, std::size_t first, std::size_t count,
                             const Draw& draw) const {
  constexpr std::size_t kChunk = 2048;
  std::array<std::byte, kChunk * 8> want;
  const auto* bytes = static_cast<const std::byte*>(got);
  std::int64_t wrong = 0;
  for (std::size_t done = 0; done < count; done += kChunk) {
    const std::size_t size = std::min(kChunk, count - done);
    const std::byte* here = bytes + done * type_.bytes;
    write(want.data(), first + done, size, draw);
    if (std::memcmp(here, want.data(), size * type_.bytes) == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t a = load(here + i * type_.bytes, type_.bytes);
      const std::uint64_t b = load(want.data() + i * type_.bytes, type_.bytes);
      if (a == b) continue;
      const bool near =
          tolerance_ > 0 && std::abs(place_of(a, mask_) - place_of(b, mask_)) <= tolerance_;
      if (!near) ++wrong;
    }
  }
  return wrong;
}

void Oracle::fill_operand(void* out, std::size_t first, std::size_t count, int rank) const {
  write(out, first, count, [&](std::uint64_t hash) { return operand(hash, rank); });
}

void Oracle::fill_cargo(void* out, std::size_t first, std::size_t count, int rank) const {
  const std::uint64_t mask = type_.kind == Kind::boolean ? 1 : mask_;
  write(out, first, count, [&](std::uint64_t hash) { return draw_of(hash, rank) & mask; });
}

std::int64_t Oracle::wrong_reduced(const void* got, std::size_t first, std::size_t count) const {
  return compare(got, first, count, [&](std::uint64_t hash) { return reduced(hash); });
}

std::int64_t Oracle::wrong_cargo(const void* got, std::size_t first, std::size_t count,
                                 int rank) const {
  const std::uint64_t mask = type_.kind == Kind::boolean ? 1 : mask_;
  // Tolerance is for averages alone; an Oracle for cargo is made with another op.
  return compare(got, first, count, [&](std::uint64_t hash) { return draw_of(hash, rank) & mask; });
}

}  // namespace perf
