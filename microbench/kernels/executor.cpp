// What the executor itself costs: rank 0 of a ring allreduce runs over a transport that moves
// nothing and completes everything at the next poll. "schedule" is the prepared operation, "loop"
// is a hand-written loop of the same transport calls; the difference per step is the executor's
// price.
#include <benchmark/benchmark.h>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "devices/host/reduce.hpp"

namespace commtune {
namespace {

class NullTransport final : public Transport {
 public:
  explicit NullTransport(Rank size) : size_(size) { pending_.reserve(64); }
  std::string_view name() const noexcept override { return "null"; }
  Capabilities capabilities() const noexcept override { return {}; }
  Rank rank() const noexcept override { return 0; }
  Rank size() const noexcept override { return size_; }
  bool crowded() const noexcept override { return false; }
  void post_send(Rank, Lane, std::span<const std::byte>, Completion done) override {
    pending_.push_back(done);
  }
  void post_recv(Rank, Lane, std::span<std::byte>, Completion done) override {
    pending_.push_back(done);
  }
  std::size_t poll() override {
    const std::size_t finished = pending_.size();
    for (const Completion& done : pending_) done.sink->complete(done.id);
    pending_.clear();
    return finished;
  }

 private:
  Rank size_;
  std::vector<Completion> pending_;
};

struct Counter final : Sink {
  void complete(std::uint32_t) noexcept override { ++completed; }
  std::uint64_t completed = 0;
};

benchmark::Counter per_step(double steps) {
  return {steps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void schedule_time(benchmark::State& state) {
  const auto ranks = static_cast<Rank>(state.range(0));
  NullTransport transport(ranks);
  std::vector<std::byte> input(static_cast<std::size_t>(ranks) * 4), output(input.size());
  const Call call{.count = static_cast<std::uint64_t>(ranks), .input = input, .output = output};
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "executor benchmark");
  const auto operation = prepare(transport, ring, {}, call);
  for ([[maybe_unused]] auto iteration : state) operation->run();
  const auto steps = ring.generate({.size = ranks}, {}).steps.size();
  state.counters["time_per_step"] = per_step(static_cast<double>(steps));
}

void loop_time(benchmark::State& state) {
  const auto ranks = static_cast<Rank>(state.range(0));
  NullTransport null(ranks);
  Transport& transport = null;
  std::vector<float> data(static_cast<std::size_t>(ranks)), arrived(1);
  const ReduceKernel kernel = reduce_kernel(DataType::float32, ReduceOp::sum);
  Counter counter;
  const auto exchange = [&](std::size_t block) {
    transport.post_recv(ranks - 1, 0, std::as_writable_bytes(std::span(arrived)), {&counter, 0});
    transport.post_send(1, 0, std::as_bytes(std::span(&data[block], 1)), {&counter, 1});
    while (transport.poll() == 0) {
    }
  };
  for ([[maybe_unused]] auto iteration : state) {
    for (std::size_t step = 1; step < data.size(); ++step) {
      exchange(step);
      auto* block = reinterpret_cast<std::byte*>(&data[step]);
      kernel(block, reinterpret_cast<const std::byte*>(arrived.data()), block, 1);
    }
    for (std::size_t step = 1; step < data.size(); ++step) exchange(step);
    benchmark::DoNotOptimize(data.data());
    benchmark::ClobberMemory();
  }
  const auto steps = static_cast<double>(5 * (ranks - 1));
  state.counters["time_per_step"] = per_step(steps);
}

BENCHMARK(schedule_time)->Name("executor/schedule")->Arg(2)->Arg(16)->Arg(64);
BENCHMARK(loop_time)->Name("executor/loop")->Arg(2)->Arg(16)->Arg(64);

}  // namespace
}  // namespace commtune
