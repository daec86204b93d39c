#include <array>
#include <string>

#include "conformance.hpp"

namespace commtune::test {
namespace {

void allgather_of_every_size(Job& job) {
  for (const std::size_t size : {0UL, 1UL, 4095UL, 4096UL, 4097UL, 20'000UL}) {
    std::vector<std::byte> mine(size), all(size * static_cast<std::size_t>(job.size()));
    fill(mine, job.rank(), 0, size);
    job.bootstrap.allgather(mine, all);
    for (Rank peer = 0; peer < job.size(); ++peer) {
      expect_pattern(std::span(all).subspan(static_cast<std::size_t>(peer) * size, size), peer, 0,
                     size);
    }
  }
}

void many_allgathers_and_barriers(Job& job) {
  for (int i = 0; i < 50; ++i) {
    const auto all = allgather_value(job.bootstrap, job.rank() * 1000 + i);
    for (Rank peer = 0; peer < job.size(); ++peer) {
      expect(all[static_cast<std::size_t>(peer)] == peer * 1000 + i, "round {} of rank {}", i,
             peer);
    }
    job.bootstrap.barrier();
  }
}

void strings_of_any_length(Job& job) {
  const auto text = [](Rank rank) {
    return std::string(static_cast<std::size_t>(rank) * 777, 'x');
  };
  const auto all = allgather_string(job.bootstrap, text(job.rank()));
  expect(all.size() == static_cast<std::size_t>(job.size()), "{} strings", all.size());
  for (Rank peer = 0; peer < job.size(); ++peer) {
    expect(all[static_cast<std::size_t>(peer)] == text(peer), "string of rank {}", peer);
  }
}

void memory_is_page_aligned_and_zeroed(Job& job) {
  for (int again = 0; again < 3; ++again) {
    for (const std::size_t size : {0UL, 1UL, 4096UL, 100'000UL, 3UL << 20U}) {
      std::byte* const data = job.transport.allocate(size);
      expect(reinterpret_cast<std::uintptr_t>(data) % 4096 == 0, "{} bytes not aligned", size);
      for (std::size_t i = 0; i < size; ++i) {
        expect(data[i] == std::byte{0}, "byte {} of {} is not zero", i, size);
      }
      std::fill(data, data + size, std::byte{0xab});
      job.transport.deallocate(data, size);
    }
  }
}

void peers_read_mapped_memory_in_place(Job& job) {
  if (!job.transport.capabilities().mapped_memory) return;
  Buffer buffer(job.transport, 10'000);
  fill(buffer.bytes(), job.rank(), 0, 1);
  const auto addresses =
      allgather_value(job.bootstrap, reinterpret_cast<std::uintptr_t>(buffer.bytes().data()));
  for (Rank peer = 0; peer < job.size(); ++peer) {
    const auto* const data =
        reinterpret_cast<const std::byte*>(addresses[static_cast<std::size_t>(peer)]);
    expect_pattern({data, buffer.bytes().size()}, peer, 0, 1);
  }
  job.bootstrap.barrier();
}

void identity(Job& job) {
  expect(job.bootstrap.rank() == job.rank() && job.bootstrap.size() == job.size(),
         "bootstrap and transport disagree");
  expect(job.transport.poll() == 0, "a poll without transfers finished something");
  const std::int64_t before = job.transport.now_ns();
  expect(job.transport.now_ns() >= before, "the clock went back");
}

constexpr std::array checks{
    Check{"allgather_of_every_size", allgather_of_every_size},
    Check{"many_allgathers_and_barriers", many_allgathers_and_barriers},
    Check{"strings_of_any_length", strings_of_any_length},
    Check{"memory_is_page_aligned_and_zeroed", memory_is_page_aligned_and_zeroed},
    Check{"peers_read_mapped_memory_in_place", peers_read_mapped_memory_in_place},
    Check{"identity", identity},
};

}  // namespace

std::span<const Check> set_up_checks() { return checks; }

}  // namespace commtune::test
