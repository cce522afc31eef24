// The board: memory that a test shares with its ranks, be they threads or processes. Knows points
// reached, words and a barrier that needs nothing of the library under test. Does not know who
// stands at it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/unique.h"
#include "gyre/gyre.h"

namespace harness {

inline constexpr int kRanksMax = 64;
inline constexpr int kTest = kRanksMax;  // stands for the test itself where a rank is named
inline constexpr int kWordsPerRank = 64;
inline constexpr int kIdsMax = 16;

// Lives in shared memory; all zero is its initial state.
struct Board {
  std::array<std::atomic<std::uint32_t>, kRanksMax + 1> points;
  std::array<std::atomic<std::uint32_t>, kIdsMax> ids_ready;
  std::array<gyreUniqueId, kIdsMax> ids;
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> round;
  std::array<std::array<std::atomic<std::uint64_t>, kWordsPerRank>, kRanksMax> words;
};

// Zeroed and shared with every process forked afterwards.
gyre::Mapping make_board();

// Sleeps until `word` is no longer `seen`, at most `span`; may also wake for nothing.
void sleep_on_word(std::atomic<std::uint32_t>& word, std::uint32_t seen, gyre::Nanos span);
void wake_word(std::atomic<std::uint32_t>& word);
// False when the deadline passes before `enough(word)`.
bool wait_for_word(std::atomic<std::uint32_t>& word,
                   const std::function<bool(std::uint32_t)>& enough, gyre::Nanos deadline);
// Counts this rank in: when board.round is no longer the answer, all `count` ranks have come.
std::uint32_t arrive_at_board(Board& board, int count);

}  // namespace harness
