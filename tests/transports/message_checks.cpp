#include <array>

#include "conformance.hpp"

namespace commtune::test {
namespace {

constexpr std::array<std::size_t, 20> sizes{0,     1,     8,      47,     48,      239,    240,
                                            241,   1024,  1025,   4096,   8191,    8193,   65535,
                                            16384, 65536, 100001, 262145, 1048577, 5242881};

Rank right_of(const Job& job) { return (job.rank() + 1) % job.size(); }
Rank left_of(const Job& job) { return (job.rank() + job.size() - 1) % job.size(); }

/// Every rank sends `out` to the right and receives from the left into `in`, on `lane`.
void shift(Job& job, Lane lane, std::span<std::byte> out, std::span<std::byte> in,
           std::size_t number) {
  if (job.size() == 1) return;
  fill(out, job.rank(), right_of(job), number);
  std::fill(in.begin(), in.end(), std::byte{0xee});
  Counter done(2);
  job.transport.post_recv(left_of(job), lane, in, done.id(0));
  job.transport.post_send(right_of(job), lane, out, done.id(1));
  done.wait(job.transport, 2);
  expect(done.seen(0) == 1 && done.seen(1) == 1, "completions were not reported once each");
  expect_pattern(in, left_of(job), job.rank(), number);
}

void private_buffers(Job& job) {
  for (const std::size_t size : sizes) {
    std::vector<std::byte> out(size), in(size);
    shift(job, 3, out, in, size);
  }
}

void allocated_buffers(Job& job) {
  for (const std::size_t size : sizes) {
    Buffer out(job.transport, size), in(job.transport, size);
    shift(job, 3, out.bytes(), in.bytes(), size);
  }
}

void parts_of_allocated_buffers(Job& job) {
  Buffer out(job.transport, 5000), in(job.transport, 5000);
  for (const std::size_t size : {std::size_t{1}, std::size_t{300}, std::size_t{4097}}) {
    shift(job, 3, out.bytes().subspan(37, size), in.bytes().subspan(3, size), size);
  }
}

void large_messages(Job& job) {
  constexpr std::size_t bytes = std::size_t{8} << 20U;
  std::vector<std::byte> out(bytes), in(bytes);
  shift(job, 0, out, in, 1);
  Buffer from(job.transport, bytes), into(job.transport, bytes);
  shift(job, 0, from.bytes(), into.bytes(), 2);
  shift(job, 0, out, into.bytes(), 3);
  shift(job, 0, from.bytes(), in, 4);
}

void blocking_calls(Job& job) {
  for (const std::size_t size : sizes) {
    std::vector<std::byte> data(size);
    Buffer buffer(job.transport, size);
    for (const std::span<std::byte> bytes : {std::span<std::byte>(data), buffer.bytes()}) {
      if (job.size() == 1) continue;
      if (job.rank() == 0) {
        fill(bytes, 0, 1, size);
        job.transport.send(right_of(job), bytes);
        job.transport.recv(left_of(job), bytes);
      } else {
        job.transport.recv(left_of(job), bytes);
        job.transport.send(right_of(job), bytes);
      }
      expect_pattern(bytes, 0, 1, size);
    }
  }
}

void blocking_and_posted_share_lane_0(Job& job) {
  if (job.size() == 1) return;
  std::array<std::vector<std::byte>, 3> data;
  for (auto& d : data) d.resize(1000);
  Counter done;
  if (job.rank() == 0) {
    for (std::size_t i = 0; i < 3; ++i) fill(data[i], 0, 1, i);
    job.transport.post_send(1, 0, data[0], done.id());
    job.transport.send(1, data[1]);
    job.transport.post_send(1, 0, data[2], done.id());
    done.wait(job.transport, 2);
  } else if (job.rank() == 1) {
    job.transport.post_recv(0, 0, data[0], done.id());
    job.transport.recv(0, data[1]);
    job.transport.recv(0, data[2]);
    done.wait(job.transport, 1);
    for (std::size_t i = 0; i < 3; ++i) expect_pattern(data[i], 0, 1, i);
  }
}

void all_to_all(Job& job) {
  const auto n = static_cast<std::size_t>(job.size());
  constexpr std::size_t rounds = 5, bytes = 3001;
  std::vector<std::byte> in(n * rounds * bytes), out(n * rounds * bytes);
  const auto part = [&](std::vector<std::byte>& all, std::size_t peer, std::size_t round) {
    return std::span(all).subspan((peer * rounds + round) * bytes, bytes);
  };
  Counter done;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t peer = 0; peer < n; ++peer) {
      const auto other = static_cast<Rank>(peer);
      if (other == job.rank()) continue;
      fill(part(out, peer, round), job.rank(), other, round);
      job.transport.post_recv(other, 5, part(in, peer, round), done.id());
      job.transport.post_send(other, 5, part(out, peer, round), done.id());
    }
  }
  done.wait(job.transport, 2 * rounds * (n - 1));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t peer = 0; peer < n; ++peer) {
      if (static_cast<Rank>(peer) == job.rank()) continue;
      expect_pattern(part(in, peer, round), static_cast<Rank>(peer), job.rank(), round);
    }
  }
}

constexpr std::array checks{
    Check{"private_buffers_of_every_size", private_buffers},
    Check{"allocated_buffers_of_every_size", allocated_buffers},
    Check{"parts_of_allocated_buffers", parts_of_allocated_buffers},
    Check{"large_messages", large_messages},
    Check{"blocking_calls", blocking_calls},
    Check{"blocking_and_posted_share_lane_0", blocking_and_posted_share_lane_0},
    Check{"all_to_all", all_to_all},
};

}  // namespace

std::span<const Check> message_checks() { return checks; }

}  // namespace commtune::test
