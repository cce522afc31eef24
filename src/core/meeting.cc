#include "core/meeting.h"

#include <algorithm>

namespace gyre {

namespace {

constexpr int kTurnMsMax = 20;         // bounds how late an abort or a parked caller is seen
constexpr Nanos kGoneAfter = 3_s;      // a door that refuses this long has no owner any more
constexpr Nanos kKnockAfter = 200_ms;  // from one look at those who should call to the next

}  // namespace

Meeting::Meeting(Doorway& door, const Call& call, std::vector<Peer> peers)
    : door_(door), call_(call), missing_(peers.size()), next_knock_(now_ns() + kKnockAfter) {
  for (Peer& peer : peers) {
    guests_.push_back({.peer = peer});
    if (calls_us(guests_.back())) ++answers_missing_;
  }
}

Result<std::vector<Connection>> Meeting::step() {
  std::vector<Connection> met;
  if (answers_missing_ > 0) {
    GYRE_TRY(answer(met));
    GYRE_TRY(knock());
  }
  GYRE_TRY(dial_out(met));
  return met;
}

// `purpose` probe: only to learn whether the door has an owner.
Result<Dialer> Meeting::dial(const Guest& guest, Purpose purpose) const {
  const PeerCard& card = guest.peer.card;
  const PeerCard& own = door_.card_;
  std::vector<Address> targets;
  const bool one_netns = card.netns == own.netns || card.netns == 0 || own.netns == 0;
  if (!call_.tcp_only && same_host(card, own) && card.has_unix && own.has_unix && one_netns)
    targets.push_back(unix_door(card.token));
  Address tcp = GYRE_TRY_WHILE(Address::from_wire(card.tcp), "calling rank {}", guest.peer.rank);
  // The scope in a card is its own host's; a link-local peer is on the link our own door is on.
  if (tcp.is_link_local()) tcp = tcp.with_scope(door_.tcp_.local().scope());
  targets.push_back(tcp);
  Hello mine;
  mine.purpose = purpose;
  mine.rank = call_.rank;
  mine.comm = call_.comm;
  mine.lane = call_.lane;
  mine.token = own.token;
  return Dialer(std::move(targets), door_.key_, mine, card.token);
}

Status Meeting::dial_out(std::vector<Connection>& met) {
  for (Guest& guest : guests_) {
    if (guest.met || calls_us(guest)) continue;
    if (!guest.dial) guest.dial = GYRE_TRY(dial(guest, call_.purpose));
    if (guest.dial->step()) {
      Greeted greeted = guest.dial->take();
      met.push_back({guest.peer.rank, std::move(greeted.socket), greeted.session_key});
      guest.dial.reset();
      guest.met = true;
      --missing_;
    } else if (guest.dial->refused_for() > kGoneAfter) {
      return blame(guest, Code::remote, "is gone");
    }
  }
  return {};
}

Status Meeting::answer(std::vector<Connection>& met) {
  std::lock_guard lock(door_.mutex_);
  GYRE_TRY(door_.serve());
  for (Guest& guest : guests_) {
    if (guest.met || !calls_us(guest)) continue;
    std::optional<Connection> parked = door_.take_parked(call_, guest.peer.rank);
    if (!parked) continue;
    met.push_back(*std::move(parked));
    guest.met = true;
    --missing_;
    --answers_missing_;
  }
  return {};
}

// Who should call us may be dead: looks in on one after the other. A door that takes the call has
// an owner, even if he is too busy to answer.
Status Meeting::knock() {
  if (knock_ && !knock_->step()) {
    const Guest& guest = guests_[knocked_];
    if (knock_->refused_for() > kGoneAfter)
      return error(Code::remote, "rank {} ({}) is gone: {}", guest.peer.rank,
                   where_text(guest.peer.card), knock_->trouble())
          .blame(guest.peer.rank);
    if (knock_->refused_for() > 0 && !guest.met) return {};
  }
  if (now_ns() < next_knock_) return {};
  next_knock_ = now_ns() + kKnockAfter;
  knock_.reset();
  for (std::size_t k = 1; k <= guests_.size(); ++k) {
    const std::size_t i = (knocked_ + k) % guests_.size();
    if (guests_[i].met || !calls_us(guests_[i])) continue;
    knocked_ = i;
    knock_ = GYRE_TRY(dial(guests_[i], Purpose::probe));
    break;
  }
  return {};
}

// What poll says of these is not used: another thread may have served them meanwhile.
Nanos Meeting::watch(std::vector<pollfd>& entries) {
  Nanos due = now_ns() + Nanos{kTurnMsMax} * 1'000'000;
  if (answers_missing_ > 0) {
    std::lock_guard lock(door_.mutex_);
    door_.watch(entries);
  }
  for (const Guest& guest : guests_) {
    if (!guest.dial) continue;
    entries.push_back(guest.dial->poll_entry());
    due = std::min(due, guest.dial->next_due());
  }
  return due;
}

Error Meeting::blame(const Guest& guest, Code code, std::string_view what) const {
  return error(code, "rank {} ({}) {}: {}", guest.peer.rank, where_text(guest.peer.card), what,
               guest.dial ? guest.dial->trouble() : std::string("it has not called"))
      .blame(guest.peer.rank);
}

// The first peer that is missing stands for all.
Error Meeting::late() const {
  const auto guest =
      std::find_if(guests_.begin(), guests_.end(), [](const Guest& one) { return !one.met; });
  return blame(*guest, Code::timeout,
               missing_ == 1 ? "did not connect in time"
                             : fmt::format("and {} more did not connect in time", missing_ - 1));
}

}  // namespace gyre
