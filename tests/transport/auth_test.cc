#include "transport/auth.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

namespace gyre {
namespace {

Until within(Nanos span) { return {deadline_in(span)}; }

struct Ends {
  Socket near, far;
};
Ends socket_pair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  const Address nowhere = Address::abstract_unix("test");
  return {Socket(Fd(fds[0]), nowhere), Socket(Fd(fds[1]), nowhere)};
}

Key key_of(char c) {
  Secret secret{};
  secret[0] = static_cast<std::uint8_t>(c);
  return derive_key(secret, "test");
}

Hello hello_of(int rank) {
  Hello out;
  out.rank = rank;
  out.comm = 42;
  return out;
}

TEST(Handshake, both_sides_learn_who_the_other_is_and_share_a_fresh_key) {
  Key last{};
  for (int round = 0; round < 2; ++round) {
    Ends ends = socket_pair();
    auto near = Handshake::dial(std::move(ends.near), key_of('a'), hello_of(3));
    auto far = Handshake::answer(std::move(ends.far), key_of('a'), hello_of(5));
    for (int i = 0; i < 10; ++i) near.step(), far.step();
    ASSERT_EQ(near.state(), Handshake::State::done);
    ASSERT_EQ(far.state(), Handshake::State::done);
    EXPECT_EQ(near.peer().rank, 5);
    EXPECT_EQ(far.peer().rank, 3);
    EXPECT_EQ(far.peer().comm, 42u);
    EXPECT_EQ(near.session_key(), far.session_key());
    EXPECT_NE(near.session_key(), last);
    last = near.session_key();
  }
}

TEST(Handshake, another_jobs_key_is_refused_by_the_dialer) {
  Ends ends = socket_pair();
  auto near = Handshake::dial(std::move(ends.near), key_of('a'), hello_of(3));
  auto far = Handshake::answer(std::move(ends.far), key_of('b'), hello_of(5));
  for (int i = 0; i < 10; ++i) near.step(), far.step();
  ASSERT_EQ(near.state(), Handshake::State::failed);
  EXPECT_NE(near.take_error().text.find("another job"), std::string::npos);
  EXPECT_EQ(far.state(), Handshake::State::failed) << "it never got a proof";
}

// Speaks the answerer's side byte by byte, so that each can be spoilt.
struct Script {
  Socket socket;
  std::array<std::byte, 80> opening;
  std::array<std::byte, 112> reply;
};
Script record_exchange(Handshake& far, Socket near) {
  Script out;
  Handshake dialer = Handshake::dial(std::move(near), key_of('a'), hello_of(1));
  dialer.step();
  far.step();
  out.socket = dialer.take_socket();
  EXPECT_TRUE(out.socket.recv_all(out.reply, within(5_s)));
  return out;
}

TEST(Handshake, answerer_believes_no_proof_but_the_right_one) {
  Ends ends = socket_pair();
  auto far = Handshake::answer(std::move(ends.far), key_of('a'), hello_of(5));
  Script script = record_exchange(far, std::move(ends.near));
  // Its own proof sent back must not do: roles differ.
  ASSERT_TRUE(script.socket.send_all(std::span(script.reply).last(32), within(5_s)));
  EXPECT_EQ(far.step(), Handshake::State::failed);
}

TEST(Handshake, every_bit_of_the_reply_matters) {
  for (std::size_t byte = 0; byte < 112; ++byte) {
    Ends dialing = socket_pair(), answering = socket_pair();
    auto near = Handshake::dial(std::move(dialing.near), key_of('a'), hello_of(3));
    auto far = Handshake::answer(std::move(answering.far), key_of('a'), hello_of(5));
    near.step();
    std::array<std::byte, 80> opening;
    ASSERT_TRUE(dialing.far.recv_all(opening, within(5_s)));
    ASSERT_TRUE(answering.near.send_all(opening, within(5_s)));
    far.step();
    std::array<std::byte, 112> reply;
    ASSERT_TRUE(answering.near.recv_all(reply, within(5_s)));
    reply[byte] ^= std::byte{1};
    ASSERT_TRUE(dialing.far.send_all(reply, within(5_s)));
    EXPECT_EQ(near.step(), Handshake::State::failed) << "byte " << byte;
  }
}

TEST(Handshake, other_version_is_named_with_ours) {
  Ends ends = socket_pair();
  auto near = Handshake::dial(std::move(ends.near), key_of('a'), hello_of(3));
  near.step();
  std::array<std::byte, 112> reply{};
  std::memcpy(reply.data(), "gyre", 4);
  reply[4] = std::byte{9};
  ASSERT_TRUE(ends.far.send_all(reply, within(5_s)));
  ASSERT_EQ(near.step(), Handshake::State::failed);
  const std::string text = near.take_error().text;
  EXPECT_NE(text.find("version 9, this library version 1"), std::string::npos) << text;
}

TEST(Handshake, strangers_are_dropped_at_their_first_wrong_bytes) {
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff"),
        std::string(4096, '\0'), std::string("gyr\0\x01\0\0\0", 8)}) {
    Ends ends = socket_pair();
    auto far = Handshake::answer(std::move(ends.far), key_of('a'), hello_of(5));
    ASSERT_TRUE(ends.near.send_all(std::as_bytes(std::span(garbage)), within(5_s)));
    EXPECT_EQ(far.step(), Handshake::State::failed);
  }
}

TEST(Handshake, a_slow_caller_blocks_nothing) {
  Ends ends = socket_pair();
  auto far = Handshake::answer(std::move(ends.far), key_of('a'), hello_of(5));
  EXPECT_EQ(far.step(), Handshake::State::want_read);
  ASSERT_TRUE(ends.near.send_all(std::as_bytes(std::span("gyr", 3)), within(5_s)));
  EXPECT_EQ(far.step(), Handshake::State::want_read);
  ends.near = Socket();
  EXPECT_EQ(far.step(), Handshake::State::failed);
}

TEST(Handshake, waiting_form_has_a_deadline) {
  Ends ends = socket_pair();
  const auto greeted = answer(std::move(ends.far), key_of('a'), hello_of(5), within(30_ms));
  ASSERT_FALSE(greeted);
  EXPECT_EQ(greeted.error().code, Code::timeout);
}

}  // namespace
}  // namespace gyre
