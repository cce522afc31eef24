#include "core/root_call.h"

#include "core/dialer.h"
#include "transport/interfaces.h"

#include <poll.h>

#include <algorithm>

namespace gyre {

namespace {

// What an address gets before the next one is tried beside it.
constexpr Nanos kHeadStart = 100_ms;

std::string address_list(const JobId& id) {
  std::string out;
  for (const Address& root : id.roots) out += (out.empty() ? "" : ", ") + root.text();
  return out;
}

// Addresses whose family this host has no route for fail at once, unless another is left.
Result<std::vector<Address>> callable_addresses(const JobId& id) {
  std::vector<Address> out;
  const auto local = GYRE_TRY(read_interfaces());
  for (const Address& root : id.roots) {
    const bool have_family = std::any_of(local.begin(), local.end(), [&](const auto& one) {
      return one.up && one.address.family() == root.family() &&
             (one.kind != InterfaceKind::loopback || root.is_loopback() ||
              root.same_host(one.address));
    });
    // A lone host has only loopback, and its own other addresses when it is the root's host.
    if (!have_family) continue;
    for (const Address& scoped : with_local_scopes(root)) out.push_back(scoped);
  }
  if (!out.empty()) return out;
  return error(Code::system, "root address {} is {}, and this host has no usable {} address",
               address_list(id), family_text(id.roots[0].family()),
               family_text(id.roots[0].family()));
}

}  // namespace

Result<RootCall> RootCall::open(const JobId& id, const Hello& mine, const Until& until) {
  const auto addresses = GYRE_TRY(callable_addresses(id));
  const Key key = id.key();
  std::vector<Dialer> dialers;
  Nanos start = now_ns();
  for (const Address& address : addresses) {
    dialers.emplace_back(std::vector{address}, key, mine);
    dialers.back().delay_until(start);
    start += kHeadStart;
  }
  for (;;) {
    std::vector<pollfd> entries;
    Nanos due = until.deadline;
    for (Dialer& dialer : dialers) {
      if (dialer.step()) return RootCall(dialer.take().socket);
      entries.push_back(dialer.poll_entry());
      due = std::min(due, dialer.next_due());
    }
    if (until.aborted()) return error(Code::aborted, "aborted while calling the root");
    if (until.passed()) {
      std::string troubles;
      for (const Dialer& dialer : dialers)
        troubles += (troubles.empty() ? "" : "; ") + dialer.trouble();
      return error(Code::timeout, "root not reachable at {}: {}", address_list(id), troubles);
    }
    ::poll(entries.data(), entries.size(), until.no_later_than(due).slice_ms());
  }
}

Status RootCall::send_join(const Join& join, const Until& until) {
  return socket_.send_all(std::as_bytes(std::span(&join, 1)), until);
}

void RootCall::send_ready() { send_word(Word{}); }

void RootCall::send_failure(const Error& why) {
  Word word;
  word.code = static_cast<int>(why.code);
  put_text(word.text, why.text);
  send_word(word);
}

void RootCall::send_word(const Word& word) {
  (void)socket_.send_some(std::as_bytes(std::span(&word, 1)));
}

bool RootCall::has_news() const {
  pollfd entry{fd(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

Result<Answer> RootCall::recv_answer(const Until& until) {
  Answer answer;
  if (Status status = socket_.recv_all(std::as_writable_bytes(std::span(&answer, 1)), until);
      !status) {
    if (status.error().code != Code::remote) return status.take_error();
    return status.take_error().context("waiting for the root: its process is gone");
  }
  if (answer.code != 0) {
    if (answer.code < 0 || answer.code > static_cast<int>(Code::aborted))
      answer.code = static_cast<int>(Code::internal);
    return error(static_cast<Code>(answer.code), "{}", get_text(answer.text)).blame(answer.culprit);
  }
  const auto card = std::as_bytes(std::span(&answer.parent, 1));
  if (answer.parent_rank >= 0) answer.parent = GYRE_TRY(unpack_card(card));
  return answer;
}

Result<std::vector<Answer>> recv_answers(std::vector<RootCall>& calls, const Until& until) {
  std::vector<Answer> out(calls.size());
  std::vector<pollfd> entries;
  for (const RootCall& call : calls) entries.push_back({call.fd(), POLLIN, 0});
  for (std::size_t missing = calls.size(); missing > 0;) {
    ::poll(entries.data(), entries.size(), until.slice_ms());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (entries[i].fd < 0 || entries[i].revents == 0) continue;
      out[i] = GYRE_TRY(calls[i].recv_answer(until));
      entries[i].fd = -1;
      --missing;
    }
    if (missing > 0) GYRE_TRY(until.check("the wait for other ranks"));
  }
  return out;
}

}  // namespace gyre
