#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <gyre/gyre.hpp>
#include <numeric>
#include <thread>
#include <type_traits>

namespace {

// Runs `body` on `ranks` ranks of this process, a thread each.
void on_ranks(int ranks, const std::function<void(gyre::Communicator&)>& body) {
  std::vector<gyre::Communicator> comms = gyre::Communicator::local(ranks);
  std::vector<std::thread> threads;
  for (gyre::Communicator& comm : comms)
    threads.emplace_back([&] {
      try {
        body(comm);
      } catch (const gyre::Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Owners, move_and_do_not_copy) {
  static_assert(!std::is_copy_constructible_v<gyre::Communicator>);
  static_assert(!std::is_copy_constructible_v<gyre::HostStream>);
  static_assert(!std::is_copy_constructible_v<gyre::MemoryBlock>);
  static_assert(std::is_nothrow_move_constructible_v<gyre::Communicator>);
  gyre::MemoryBlock block(100);
  block.as<char>()[99] = 7;
  gyre::MemoryBlock moved = std::move(block);
  EXPECT_EQ(moved.as<char>()[99], 7);
  EXPECT_EQ(moved.as<double>().size(), 12u);
  EXPECT_EQ(block.data(), nullptr);
}

TEST(Owners, collectives_take_their_counts_from_ranges) {
  on_ranks(3, [](gyre::Communicator& comm) {
    const int me = comm.rank();
    ASSERT_EQ(comm.size(), 3);
    std::vector<float> in = {1.0f + static_cast<float>(me), 10}, out(2);
    comm.all_reduce(in, out);
    EXPECT_EQ(out, (std::vector<float>{6, 30}));
    comm.all_reduce(in, in, gyreMax);
    EXPECT_EQ(in, (std::vector<float>{3, 10}));

    std::array<int, 1> mine = {me};
    std::array<int, 3> all{};
    comm.all_gather(mine, all);
    EXPECT_EQ(all, (std::array<int, 3>{0, 1, 2}));
    comm.all_to_all(std::array<int, 3>{me * 10, me * 10 + 1, me * 10 + 2}, all);
    EXPECT_EQ(all, (std::array<int, 3>{me, 10 + me, 20 + me}));
    comm.reduce_scatter(std::vector<int>{1, 2, 3}, mine);
    EXPECT_EQ(mine[0], 3 * (me + 1));

    std::vector<double> word = {me == 1 ? 2.5 : 0};
    comm.broadcast(word, 1);
    EXPECT_EQ(word[0], 2.5);
    std::vector<int> sum(me == 2 ? 1 : 0);
    comm.reduce(std::vector<int>{me + 1}, sum, 2);
    EXPECT_TRUE(me != 2 || sum[0] == 6);
    std::vector<int> rows(me == 0 ? 3 : 0);
    comm.gather(std::vector<int>{me}, rows, 0);
    EXPECT_TRUE(me != 0 || rows == (std::vector<int>{0, 1, 2}));
    comm.scatter(rows, mine, 0);
    EXPECT_EQ(mine[0], me);
    comm.barrier();
  });
}

TEST(Owners, group_lets_sends_and_receives_cross) {
  on_ranks(2, [](gyre::Communicator& comm) {
    std::vector<int> in = {comm.rank()}, out = {-1};
    gyre::Group group;
    comm.send(in, 1 - comm.rank());
    comm.recv(out, 1 - comm.rank());
    group.run();
    EXPECT_EQ(out[0], 1 - comm.rank());
  });
}

TEST(Owners, group_left_by_an_exception_runs_nothing) {
  std::vector<gyre::Communicator> alone = gyre::Communicator::local(1);
  std::vector<int> in = {5}, out = {0};
  try {
    gyre::Group group;
    alone[0].all_reduce(in, out);
    throw std::logic_error("left early");
  } catch (const std::logic_error&) {
  }
  EXPECT_EQ(out[0], 0);
  alone[0].all_reduce(in, out);  // no group is open any more: it runs at once
  EXPECT_EQ(out[0], 5);
}

TEST(Owners, streams_overlap_and_synchronize) {
  on_ranks(2, [](gyre::Communicator& comm) {
    gyre::HostStream stream;
    std::vector<int> value = {1};
    for (int i = 0; i < 3; ++i) comm.all_reduce(value, value, gyreSum, stream);
    stream.synchronize();
    EXPECT_EQ(value[0], 8);
    EXPECT_TRUE(stream.is_idle());
  });
}

TEST(Owners, registered_memory_gives_the_same_results) {
  on_ranks(2, [](gyre::Communicator& comm) {
    gyre::MemoryBlock block(8192);
    const gyre::Registration registration(comm, block.data(), block.bytes());
    const std::span<float> values = block.as<float>();
    std::iota(values.begin(), values.end(), 0.0f);
    comm.all_reduce(values, values);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 2 * static_cast<float>(i));
    comm.barrier();
  });
}

TEST(Owners, failures_carry_code_and_text) {
  std::vector<gyre::Communicator> alone = gyre::Communicator::local(1);
  std::vector<int> word = {1};
  try {
    alone[0].broadcast(word, 7);
    ADD_FAILURE() << "root 7 of 1 rank was accepted";
  } catch (const gyre::Error& error) {
    EXPECT_EQ(error.code(), gyreInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("7"), std::string::npos) << error.what();
  }
  std::vector<int> longer(2);
  EXPECT_THROW(alone[0].all_reduce(word, longer), gyre::Error);
}

TEST(Owners, split_without_a_color_is_nothing) {
  on_ranks(2, [](gyre::Communicator& comm) {
    std::optional<gyre::Communicator> child =
        comm.split(comm.rank() == 0 ? 0 : GYRE_SPLIT_NOCOLOR, 0);
    EXPECT_EQ(child.has_value(), comm.rank() == 0);
    EXPECT_TRUE(!child || child->size() == 1);
  });
}

TEST(Owners, no_communicator_is_made_inside_a_group) {
  std::vector<gyre::Communicator> comms = gyre::Communicator::local(1);
  auto expect_refused = [](const auto& make) {
    try {
      (void)make();
      ADD_FAILURE() << "made inside a group";
    } catch (const gyre::Error& error) {
      EXPECT_EQ(error.code(), gyreInvalidUsage);
    }
  };
  {
    gyre::Group group;
    expect_refused([&] { return comms[0].split(0, 0); });
    expect_refused([] { return gyre::Communicator::local(1); });
    expect_refused([] { return gyre::Communicator::join(gyre::unique_id(), 1, 0); });
    expect_refused([] { return gyre::Communicator::from_environment(); });
  }
  EXPECT_TRUE(comms[0].split(0, 0).has_value());
  EXPECT_EQ(comms[0].state(), gyreSuccess);
}

TEST(Owners, join_without_blocking_becomes_ready) {
  gyreConfig_t config = gyre::config();
  config.blocking = 0;
  gyre::Communicator comm = gyre::Communicator::join(gyre::unique_id(), 1, 0, &config);
  while (comm.state() == gyreInProgress) std::this_thread::yield();
  EXPECT_EQ(comm.size(), 1);
}

}  // namespace
