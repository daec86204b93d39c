#include <array>
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>

#include "conformance.hpp"
#include "jobs.hpp"
#include "transports/local/arena.hpp"
#include "transports/local/fifo.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

// Kept out of line: inlined, GCC takes the pair malloc and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const data = std::malloc(bytes == 0 ? 1 : bytes)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* const data = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace commtune::test {
namespace {

/// Views of every route, several at once, given back last first.
void exchange_views(Job& job, std::span<std::byte> out, Counter& done, std::size_t& expected) {
  std::array<View, 8> views;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{5'000}, out.size()}) {
    for (View& view : views) {
      job.transport.post_view(1 - job.rank(), 5, bytes, view, done.id(1));
      job.transport.post_send(1 - job.rank(), 5, out.first(bytes), done.id());
    }
    expected += 2 * views.size();
    const std::size_t arrived = done.seen(1) + views.size();
    while (done.seen(1) < arrived) job.transport.poll();
    for (std::size_t i = views.size(); i-- > 0;) job.transport.release_view(views[i]);
    done.wait(job.transport, expected);
  }
}

/// Both directions, several lanes, every route, more messages than a ring holds.
void exchange(Job& job, std::span<std::byte> out, std::span<std::byte> in, Counter& done,
              std::size_t& expected) {
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{300}, std::size_t{5'000}, out.size()}) {
    for (Lane lane = 0; lane < 4; ++lane) {
      for (int i = 0; i < 40; ++i) {
        job.transport.post_recv(1 - job.rank(), lane, in.first(bytes), done.id());
        job.transport.post_send(1 - job.rank(), lane, out.first(bytes), done.id());
        expected += 2;
      }
    }
    done.wait(job.transport, expected);
  }
}

/// Queues may grow until they have seen the deepest backlog, which depends on timing; so the steady
/// state is five rounds in a row without an allocation by any rank.
int reach_steady_state(Job& job, bool leak_in_every_round) {
  constexpr int most_rounds = 60, steady_rounds = 5;
  std::vector<std::byte> out(70'000), in(70'000);
  Buffer from(job.transport, 70'000), into(job.transport, 70'000);
  Counter done(2);
  std::size_t expected = 0;
  int quiet = 0;
  for (int round = 0; round < most_rounds && quiet < steady_rounds; ++round) {
    job.bootstrap.barrier();
    const std::size_t before = allocations.load();
    exchange(job, out, in, done, expected);
    exchange(job, from.bytes(), into.bytes(), done, expected);
    exchange_views(job, out, done, expected);
    exchange_views(job, from.bytes(), done, expected);
    if (leak_in_every_round) ::operator delete(::operator new(1));
    const std::size_t mine = allocations.load() - before;
    job.bootstrap.barrier();
    std::size_t all = 0;
    for (const std::size_t theirs : allgather_value(job.bootstrap, mine)) all += theirs;
    quiet = all == 0 ? quiet + 1 : 0;
  }
  return quiet == steady_rounds ? 0 : 1;
}

TEST(SteadyState, allocates_nothing) {
  for (const char* transport : {"shm", "threads"}) {
    const auto body = [](Job& job) { return reach_steady_state(job, false); };
    EXPECT_EQ(run_local(transport, 2, body).reason, "");
  }
}

TEST(SteadyState, is_not_reached_with_one_allocation_per_round) {
  const auto body = [](Job& job) { return reach_steady_state(job, true); };
  EXPECT_EQ(run_local("shm", 2, body).status, 1);
}

TEST(Arena, reuses_and_merges_what_was_freed) {
  std::vector<std::byte> memory(8 * 4096);
  local::Arena arena(memory);
  std::byte* const a = arena.allocate(4096);
  std::byte* const b = arena.allocate(1);
  std::byte* const c = arena.allocate(2 * 4096);
  EXPECT_EQ(a, memory.data());
  EXPECT_EQ(b, a + 4096);
  EXPECT_EQ(c, b + 4096);
  EXPECT_EQ(arena.allocate(5 * 4096), nullptr);
  arena.deallocate(a, 4096);
  arena.deallocate(c, 2 * 4096);
  arena.deallocate(b, 1);
  EXPECT_EQ(arena.allocate(8 * 4096), memory.data());
  EXPECT_EQ(arena.allocate(1), nullptr);
}

TEST(Arena, puts_large_blocks_on_huge_pages_and_packs_small_ones) {
  constexpr std::size_t huge = std::size_t{2} << 20U;
  std::vector<std::byte> memory(4 * huge);
  local::Arena arena(memory, true);
  EXPECT_EQ(arena.allocate(1), memory.data());
  EXPECT_EQ(arena.allocate(huge + 1), memory.data() + huge);
  EXPECT_EQ(arena.allocate(4096), memory.data() + 4096);
  EXPECT_EQ(arena.allocate(huge), memory.data() + 3 * huge);
  EXPECT_EQ(arena.allocate(huge), nullptr);
  arena.deallocate(memory.data() + huge, huge + 1);
  EXPECT_EQ(arena.allocate(2 * huge), memory.data() + huge);
}

TEST(Arena, clears_what_was_used_before) {
  std::vector<std::byte> memory(4 * 4096);
  local::Arena arena(memory);
  std::byte* const a = arena.allocate(4096);
  a[17] = std::byte{1};
  arena.deallocate(a, 4096);
  EXPECT_EQ(arena.allocate(2 * 4096)[17], std::byte{0});
}

TEST(Arena, refuses_absurd_sizes) {
  std::vector<std::byte> memory(4096);
  local::Arena arena(memory);
  EXPECT_EQ(arena.allocate(~std::size_t{0}), nullptr);
}

TEST(Fifo, keeps_the_order_across_growth_and_wrap) {
  local::Fifo<int> fifo;
  int in = 0, out = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7; ++i) fifo.push(in++);
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(fifo.front(), out++);
      fifo.pop();
    }
  }
  EXPECT_EQ(fifo.size(), 100U);
}

}  // namespace
}  // namespace commtune::test
