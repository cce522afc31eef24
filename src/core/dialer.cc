#include "core/dialer.h"

#include <algorithm>

namespace gyre {

namespace {

constexpr Nanos kPauseMin = 1_ms;
constexpr Nanos kPauseMax = 100_ms;

}  // namespace

Dialer::Dialer(std::vector<Address> targets, const Key& key, const Hello& mine,
               const Token& expected)
    : targets_(std::move(targets)), key_(key), mine_(mine), expected_(expected) {}

bool Dialer::step() {
  if (!attempt_) {
    if (now_ns() < next_try_) return false;
    start_attempt();
    if (!attempt_) return false;
  }
  const Handshake::State state = attempt_->step();
  if (state == Handshake::State::failed) {
    attempt_failed(attempt_->take_error());
    return false;
  }
  if (state != Handshake::State::done) return false;
  if (expected_ != Token{} && attempt_->peer().token != expected_) {
    attempt_failed(
        error(Code::remote, "another process of this job answers at {}", targets_[at_].text()));
    return false;
  }
  return true;
}

void Dialer::start_attempt() {
  ++tries_;
  auto socket = Socket::start(targets_[at_]);
  if (!socket && socket.error().code == Code::in_progress) {
    next_try_ = now_ns() + kPauseMin;  // a full queue is a living listener
    last_error_ = socket.error().text;
    return;
  }
  if (!socket) return attempt_failed(socket.take_error());
  attempt_ = Handshake::dial(*std::move(socket), key_, mine_);
}

void Dialer::attempt_failed(Error why) {
  attempt_.reset();
  last_error_ = std::move(why.text);
  if (at_ + 1 < targets_.size()) {
    ++at_;
    next_try_ = 0;
    return;
  }
  if (refused_since_ == 0) refused_since_ = now_ns();
  pause_ = std::clamp<Nanos>(pause_ * 2, kPauseMin, kPauseMax);
  next_try_ = now_ns() + pause_;
}

pollfd Dialer::poll_entry() const {
  if (!attempt_) return {-1, 0, 0};
  return {attempt_->fd(), attempt_->poll_events(), 0};
}

Greeted Dialer::take() {
  Greeted out{attempt_->take_socket(), attempt_->peer(), attempt_->session_key()};
  attempt_.reset();
  return out;
}

std::string Dialer::trouble() const {
  if (last_error_.empty()) return fmt::format("no answer from {}", targets_[at_].text());
  return fmt::format("{} ({} tries)", last_error_, tries_);
}

}  // namespace gyre
