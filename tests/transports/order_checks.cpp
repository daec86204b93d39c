#include <algorithm>
#include <array>

#include "conformance.hpp"

namespace commtune::test {
namespace {

bool is_pair(const Job& job) { return job.size() > 1 && job.rank() < 2; }
Rank other(const Job& job) { return 1 - job.rank(); }

/// 1000 messages of changing size outstanding in both directions on one lane.
void many_outstanding_on_one_lane(Job& job) {
  if (!is_pair(job)) return;
  constexpr std::size_t messages = 1000;
  const auto bytes = [](std::size_t i) { return i % 7 == 0 ? 0 : i * 37 % 600; };
  std::vector<std::vector<std::byte>> out(messages), in(messages);
  Counter done(messages);
  for (std::size_t i = 0; i < messages; ++i) {
    out[i].resize(bytes(i));
    in[i].resize(bytes(i));
    fill(out[i], job.rank(), other(job), i);
    job.transport.post_send(other(job), 9, out[i], done.id(i));
  }
  for (std::size_t i = 0; i < messages; ++i) {
    job.transport.post_recv(other(job), 9, in[i], done.id(i));
  }
  done.wait(job.transport, 2 * messages);
  for (std::size_t i = 0; i < messages; ++i) {
    expect(done.seen(i) == 2, "message {} completed {} times", i, done.seen(i));
    expect_pattern(in[i], other(job), job.rank(), i);
  }
}

/// Rank 0 posts lanes upwards, rank 1 downwards; each lane carries several sizes.
void lanes_in_different_orders(Job& job) {
  if (!is_pair(job)) return;
  constexpr std::array<std::size_t, 4> sizes{0, 100, 50'000, 400'000};
  std::array<std::vector<std::byte>, lane_count * sizes.size()> out, in;
  Counter done;
  for (Lane step = 0; step < lane_count; ++step) {
    const Lane lane = job.rank() == 0 ? step : lane_count - 1 - step;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t i = lane * sizes.size() + k;
      out[i].resize(sizes[k]);
      in[i].resize(sizes[k]);
      fill(out[i], job.rank(), other(job), i);
      job.transport.post_send(other(job), lane, out[i], done.id());
      job.transport.post_recv(other(job), lane, in[i], done.id());
    }
  }
  done.wait(job.transport, 2 * out.size());
  for (std::size_t i = 0; i < in.size(); ++i) expect_pattern(in[i], other(job), job.rank(), i);
}

void recv_before_and_after_send(Job& job) {
  std::vector<std::byte> small(8), large(70'000);
  for (const std::span<std::byte> data : {std::span(small), std::span(large)}) {
    for (const bool early : {true, false}) {
      Counter done;
      if (job.size() > 1 && job.rank() == 1 && early)
        job.transport.post_recv(0, 1, data, done.id());
      job.bootstrap.barrier();
      if (job.size() > 1 && job.rank() == 0) {
        fill(data, 0, 1, data.size());
        job.transport.post_send(1, 1, data, done.id());
        for (int i = 0; i < 100; ++i) job.transport.poll();
      }
      job.bootstrap.barrier();
      if (job.size() > 1 && job.rank() == 1 && !early)
        job.transport.post_recv(0, 1, data, done.id());
      if (is_pair(job)) done.wait(job.transport, 1);
      if (job.size() > 1 && job.rank() == 1) expect_pattern(data, 0, 1, data.size());
      job.bootstrap.barrier();
    }
  }
}

/// Posts the next message from inside the completion of the last one.
class Relay final : public Sink {
 public:
  Relay(Transport& transport, Rank peer, int rounds)
      : transport_(transport), peer_(peer), left_(rounds) {}
  void complete(std::uint32_t) noexcept override {
    if (++done_ % 2 == 0 && --left_ > 0) post();
  }
  void post() {
    transport_.post_recv(peer_, 2, in_, {this, 0});
    transport_.post_send(peer_, 2, out_, {this, 1});
  }
  bool finished() const { return left_ == 0; }

 private:
  Transport& transport_;
  Rank peer_;
  int left_, done_ = 0;
  std::array<std::byte, 64> in_{}, out_{};
};

void completions_may_post(Job& job) {
  if (!is_pair(job)) return;
  Relay relay(job.transport, other(job), 500);
  relay.post();
  while (!relay.finished()) job.transport.poll();
}

void messages_to_itself_are_refused(Job& job) {
  std::array<std::byte, 8> data{};
  Counter done;
  const auto refused = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == Errc::usage;
    }
    return false;
  };
  expect(refused([&] { job.transport.post_send(job.rank(), 0, data, done.id()); }),
         "send to itself");
  expect(refused([&] { job.transport.post_recv(job.rank(), 0, data, done.id()); }),
         "recv from itself");
  expect(refused([&] { job.transport.post_send(job.size(), 0, data, done.id()); }), "unknown rank");
  expect(refused([&] { job.transport.post_recv(-1, 0, data, done.id()); }), "negative rank");
}

constexpr std::array checks{
    Check{"many_outstanding_on_one_lane", many_outstanding_on_one_lane},
    Check{"lanes_in_different_orders", lanes_in_different_orders},
    Check{"recv_before_and_after_send", recv_before_and_after_send},
    Check{"completions_may_post", completions_may_post},
    Check{"messages_to_itself_are_refused", messages_to_itself_are_refused},
};

}  // namespace

std::span<const Check> order_checks() { return checks; }

}  // namespace commtune::test
