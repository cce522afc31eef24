#include "collectives/flow.h"

#include <algorithm>

namespace gyre {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Flow::Flow(std::span<const Program> programs, const Wiring& wiring, int slots, const Loops& loops)
    : programs_(programs),
      wiring_(wiring),
      slots_(slots),
      depth_(wiring.channels.size(), 0),
      queued_(wiring.lanes.size(), false) {
  for (int lane = 0; lane < static_cast<int>(wiring.lanes.size()); ++lane) {
    cursors_.emplace_back(program(lane), lane_of(lane), loops(rank(lane), lane_of(lane)));
    wake(lane);
  }
}

void Flow::wake(int lane) {
  if (lane < 0 || queued_[at(lane)]) return;
  queued_[at(lane)] = true;
  awake_.push_back(lane);
}

// The first channel that holds the lane up; -1 when none does.
int Flow::blocking_channel(int lane) const {
  const Program& p = program(lane);
  const Move& move = cursor(lane).move();
  const auto first_at = [&](std::span<const Ref> refs, Place place, int depth) {
    for (const Ref& ref : refs)
      if (ref.place == place && depth_[at(channel(lane, ref))] == depth) return channel(lane, ref);
    return -1;
  };
  int found = first_at(waits_of(p, move), Place::token, 0);
  if (found < 0) found = first_at(sources_of(p, move), Place::fifo, 0);
  if (found < 0) found = first_at(targets_of(p, move), Place::fifo, slots_);
  if (found < 0) found = first_at(posts_of(p, move), Place::token, slots_);
  return found;
}

void Flow::advance(int lane) {
  const Program& p = program(lane);
  const Move& move = cursor(lane).move();
  const auto pop = [&](const Ref& ref) {
    --depth_[at(channel(lane, ref))];
    wake(wiring_.channels[at(channel(lane, ref))].writer);
  };
  const auto push = [&](const Ref& ref) {
    ++depth_[at(channel(lane, ref))];
    wake(wiring_.channels[at(channel(lane, ref))].reader);
  };
  for (const Ref& ref : waits_of(p, move)) pop(ref);
  for (const Ref& ref : sources_of(p, move))
    if (ref.place == Place::fifo) pop(ref);
  for (const Ref& ref : targets_of(p, move))
    if (ref.place == Place::fifo) push(ref);
  for (const Ref& ref : posts_of(p, move)) push(ref);
  cursors_[at(lane)].next();
  ++turns_;
}

bool Flow::finished() const {
  return std::all_of(cursors_.begin(), cursors_.end(), [](const Cursor& c) { return c.done(); });
}

std::string Flow::where(int lane) const {
  const Cursor& c = cursor(lane);
  return fmt::format("rank {} lane {} move {} turn {} loop {}", rank(lane),
                     wiring_.lanes[at(lane)].lane, c.move_index() - lane_of(lane).first, c.turn(),
                     c.loop());
}

std::string Flow::deadlock() const {
  int lane = 0;
  while (lane < lanes() && done(lane)) ++lane;
  if (lane == lanes()) return {};
  // A stuck lane waits for one channel, whose other end is stuck or gone: follow until it closes.
  std::vector<int> chain;
  while (std::find(chain.begin(), chain.end(), lane) == chain.end()) {
    chain.push_back(lane);
    const Channel& waited = wiring_.channels[at(blocking_channel(lane))];
    const int other = waited.reader == lane ? waited.writer : waited.reader;
    if (other < 0 || done(other)) {
      lane = -1;
      break;
    }
    lane = other;
  }
  if (lane >= 0) chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), lane));
  std::string text = fmt::format("deadlock at {} slot{}:", slots_, slots_ == 1 ? "" : "s");
  for (const int stuck : chain) {
    const Channel& waited = wiring_.channels[at(blocking_channel(stuck))];
    text += fmt::format(" {} waits for {} {};", where(stuck),
                        waited.reader == stuck ? "something on" : "room on", to_text(waited));
  }
  return text + (lane >= 0 ? " which closes the circle" : " whose other end has finished");
}

std::string Flow::leftover() const {
  for (std::size_t i = 0; i < depth_.size(); ++i)
    if (depth_[i] > 0) return fmt::format("{} left in {}", depth_[i], to_text(wiring_.channels[i]));
  return {};
}

}  // namespace gyre
