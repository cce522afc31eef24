// What a rank and a root say to each other after the handshake. Fixed sizes, so that no length
// field needs believing. Knows the layout alone.
//
//   rank -> root  Join          who I am
//   root -> rank  Answer        all have come: this is your parent   (or the job's failure)
//   rank -> root  Word          my part of the tree stands           (or my failure)
//   root -> rank  Answer        the whole tree stands                (or the job's failure)
#pragma once

#include "core/doorway.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gyre {

struct Join {
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t blocks = 0;
  std::int32_t block = 0;        // whose root the rank means to call
  std::int64_t patience_ns = 0;  // how long the rank will wait; kNever for ever
  std::uint32_t protocol = 0;
  std::uint32_t reserved = 0;
  PeerCard card;
};
static_assert(sizeof(Join) == 32 + sizeof(PeerCard));

struct Answer {
  std::int32_t code = 0;  // Code; with ok the job is complete
  std::int32_t culprit = -1;
  std::int32_t parent_rank = -1;  // -1: rank 0, which has none
  std::uint32_t reserved = 0;
  PeerCard parent;
  std::array<char, 1024> text{};  // of the failure; ends in 0
};
static_assert(sizeof(Answer) == 1040 + sizeof(PeerCard));

struct Word {
  std::int32_t code = 0;         // Code
  std::array<char, 508> text{};  // of the failure; ends in 0
};
static_assert(sizeof(Word) == 512);

template <std::size_t n>
void put_text(std::array<char, n>& into, std::string_view text) {
  into = {};
  text.copy(into.data(), n - 1);
}
// Stops at the end of the field whatever its sender wrote; keeps terminals safe.
template <std::size_t n>
std::string get_text(const std::array<char, n>& from) {
  std::string out(from.data(), strnlen(from.data(), n));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return out;
}

}  // namespace gyre
