// start() and progress() allocate nothing: the global allocator is replaced by one that counts.
#include <atomic>
#include <cstdlib>
#include <new>

#include "collectives/parameter_server/server.hpp"
#include "collectives/parameter_server/worker.hpp"
#include "tests/collectives/fixture.hpp"
#include "tests/collectives/guarded_memory.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }

namespace commtune::test {
namespace {

/// Allocations of three runs, after two that may grow the transport's queues. Ranks are processes,
/// so that each counts only its own.
std::uint64_t allocations_of(Job& job, const Algorithm& algorithm, const Call& call,
                             const Limits& limits, bool shared) {
  GuardedMemory memory(job.transport, shared,
                       GuardedMemory::call_bytes(call, job.size(), job.rank()));
  Call bound = call;
  memory.bind(bound, job.size(), job.rank(), 0);
  const auto operation = prepare(job.transport, algorithm, {}, bound, limits);
  for (int i = 0; i < 2; ++i) operation->run();
  job.bootstrap.barrier();
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 3; ++i) {
    operation->start();
    while (!operation->progress()) sched_yield();
  }
  const std::uint64_t after = allocations.load();
  job.bootstrap.barrier();
  return after - before;
}

/// Every algorithm, in packed messages and waves too.
void expect_no_allocations(Job& job, bool shared) {
  for (const Algorithm* algorithm : algorithms()) {
    if (!refusal(*algorithm, {0, job.size(), 0, false}, {}).empty()) continue;
    for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{100'000}}) {
      if (algorithm->collective == Collective::barrier && count != 3) continue;
      const Call call{.collective = algorithm->collective,
                      .count = algorithm->collective == Collective::barrier ? 0 : count};
      const auto found = allocations_of(job, *algorithm, call, {.wave_bytes = 64 * 1024}, shared);
      if (found != 0) {
        fail(Errc::wrong_result, "{}, {} memory: {} allocations",
             text_of(call, algorithm->name, job.size()), shared ? "shared" : "private", found);
      }
    }
  }
}

TEST(Allocation, start_and_progress_allocate_nothing) {
  for (const int ranks : {1, 2, 3, 5}) {
    expect_job("shm", ranks, [](Job& job) { expect_no_allocations(job, true); });
  }
}

TEST(Allocation, start_and_progress_allocate_nothing_with_private_memory) {
  for (const int ranks : {2, 3}) {
    expect_job("shm", ranks, [](Job& job) { expect_no_allocations(job, false); });
  }
}

/// Allocations of three steps, after two that may grow the transport's queues. Of memory from the
/// transport: how many private gradients wait at a server together is a matter of time, and each
/// wants a buffer to land in.
std::uint64_t allocations_of_steps(Job& job, const ParameterPlan& plan) {
  const std::size_t bytes = plan.count * size_of(plan.type);
  Buffer gradient(job.transport, bytes), parameters(job.transport, bytes);
  std::unique_ptr<ParameterServer> server;
  std::unique_ptr<ParameterWorker> worker;
  if (job.rank() < plan.servers) {
    server = std::make_unique<ParameterServer>(job.transport, plan);
  } else {
    worker = std::make_unique<ParameterWorker>(job.transport, plan, gradient.bytes(),
                                               parameters.bytes());
  }
  const auto run = [&](int steps) {
    const std::uint64_t before = allocations.load();
    if (server) server->run(static_cast<std::uint64_t>(steps * (job.size() - plan.servers)));
    for (int i = 0; worker && i < steps; ++i) worker->exchange();
    return allocations.load() - before;
  };
  run(2);
  job.bootstrap.barrier();
  const std::uint64_t found = run(3);
  job.bootstrap.barrier();
  if (worker) worker->stop().run();
  if (server) server->run();
  return found;
}

TEST(Allocation, steps_with_parameter_servers_allocate_nothing) {
  expect_job("shm", 4, [](Job& job) {
    for (const UpdateMode mode : {UpdateMode::synchronous, UpdateMode::asynchronous}) {
      for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{100'000}}) {
        const auto found = allocations_of_steps(job, {.servers = 2, .count = count, .mode = mode});
        if (found != 0) fail(Errc::wrong_result, "{} elements: {} allocations", count, found);
      }
    }
    job.bootstrap.barrier();
  });
}

TEST(Allocation, is_counted_when_it_happens) {
  const std::uint64_t before = allocations.load();
  const std::vector<int> some(1000, 1);
  EXPECT_EQ(allocations.load() - before, 1U);
  EXPECT_EQ(some.size(), 1000U);
}

}  // namespace
}  // namespace commtune::test
