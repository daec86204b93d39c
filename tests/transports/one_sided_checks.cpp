#include <algorithm>
#include <array>
#include <thread>

#include "conformance.hpp"
#include "transports/one_sided.hpp"

namespace commtune::test {
namespace {

/// Everybody's turn ends here; polls, because one-sided access may need its target to.
void meet(Job& job) {
  const auto right = (job.rank() + 1) % job.size();
  const auto left = (job.rank() + job.size() - 1) % job.size();
  for (int round = 0; round < job.size() && job.size() > 1; ++round) {
    Counter done;
    job.transport.post_recv(left, 1, {}, done.id());
    job.transport.post_send(right, 1, {}, done.id());
    done.wait(job.transport, 2);
  }
}

void flush(Job& job, Region& region, Rank to) {
  Counter done;
  region.post_flush(to, done.id());
  done.wait(job.transport, 1);
}

constexpr std::array<std::size_t, 9> sizes{0, 1, 7, 64, 1000, 4097, 65536, 100'001, 1U << 20U};

/// Every rank puts into a slot of its own at every rank, itself included, and reads it back.
void put_flush_and_get(Job& job) {
  OneSided* const access = job.transport.one_sided();
  if (access == nullptr) return;
  const auto ranks = static_cast<std::size_t>(job.size());
  for (const std::size_t size : sizes) {
    const std::size_t slot = size + 3;  // neighbours at odd addresses
    const auto region = access->allocate_region(job.bootstrap, slot * ranks);
    expect(region->mine().size() == slot * ranks, "a part of {} bytes", region->mine().size());
    std::vector<std::vector<std::byte>> out(ranks), in(ranks);
    Counter puts(ranks), gets(ranks);
    const std::size_t offset = slot * static_cast<std::size_t>(job.rank());
    for (Rank to = 0; to < job.size(); ++to) {
      const auto i = static_cast<std::size_t>(to);
      out[i].resize(size);
      fill(out[i], job.rank(), to, size);
      region->post_put(to, offset, out[i], puts.id(i));
    }
    puts.wait(job.transport, ranks);
    for (Rank to = 0; to < job.size(); ++to) flush(job, *region, to);
    meet(job);
    for (Rank from = 0; from < job.size(); ++from) {
      const std::size_t begin = slot * static_cast<std::size_t>(from);
      expect_pattern(region->mine().subspan(begin, size), from, job.rank(), size);
      for (const std::byte guard : region->mine().subspan(begin + size, 3)) {
        expect(guard == std::byte{0}, "a put of {} bytes wrote behind its end", size);
      }
    }
    for (Rank from = 0; from < job.size(); ++from) {
      const auto i = static_cast<std::size_t>(from);
      in[i].assign(size, std::byte{0xee});
      region->post_get(from, offset, in[i], gets.id(i));
    }
    gets.wait(job.transport, ranks);
    for (Rank from = 0; from < job.size(); ++from) {
      expect_pattern(in[static_cast<std::size_t>(from)], job.rank(), from, size);
    }
    meet(job);
  }
}

void many_puts_outstanding(Job& job) {
  OneSided* const access = job.transport.one_sided();
  if (access == nullptr) return;
  constexpr std::size_t puts = 1000, bytes = 40;
  const auto region = access->allocate_region(job.bootstrap, puts * bytes);
  const Rank right = (job.rank() + 1) % job.size();
  const Rank left = (job.rank() + job.size() - 1) % job.size();
  std::vector<std::vector<std::byte>> out(puts, std::vector<std::byte>(bytes));
  Counter done(puts);
  for (std::size_t i = 0; i < puts; ++i) {
    fill(out[i], job.rank(), right, i);
    region->post_put(right, i * bytes, out[i], done.id(i));
  }
  done.wait(job.transport, puts);
  flush(job, *region, right);
  meet(job);
  for (std::size_t i = 0; i < puts; ++i) {
    expect(done.seen(i) == 1, "put {} completed {} times", i, done.seen(i));
    expect_pattern(region->mine().subspan(i * bytes, bytes), left, job.rank(), i);
  }
  meet(job);
}

void parts_of_different_sizes_are_guarded(Job& job) {
  OneSided* const access = job.transport.one_sided();
  if (access == nullptr) return;
  const auto region =
      access->allocate_region(job.bootstrap, 10 * static_cast<std::size_t>(job.rank()));
  const Rank last = job.size() - 1;
  const std::size_t size = 10 * static_cast<std::size_t>(last);
  expect(region->bytes(last) == size, "{} bytes", region->bytes(last));
  std::vector<std::byte> data(size + 1);
  Counter done;
  const auto expect_refusal = [&](Rank to, std::size_t offset, std::size_t bytes,
                                  const std::string& text) {
    for (const bool puts : {true, false}) {
      try {
        if (puts) {
          region->post_put(to, offset, std::span(data).first(bytes), done.id());
        } else {
          region->post_get(to, offset, std::span(data).first(bytes), done.id());
        }
      } catch (const Error& error) {
        expect(error.code() == Errc::usage && error.what() == text, "refused with: {}",
               error.what());
        continue;
      }
      fail(Errc::wrong_result, "{} bytes at {} of rank {} were not refused", bytes, offset, to);
    }
  };
  expect_refusal(last, 0, size + 1,
                 fmt::format("{} bytes at 0 do not lie in the {} bytes of rank {}'s part of the "
                             "region",
                             size + 1, size, last));
  expect_refusal(last, SIZE_MAX, 1,
                 fmt::format("1 bytes at {} do not lie in the {} bytes of rank {}'s part of the "
                             "region",
                             SIZE_MAX, size, last));
  expect_refusal(job.size(), 0, 1, fmt::format("rank {0} is not one of the {0} ranks", job.size()));
  meet(job);
}

/// Posts in one thread, polls in another, and back.
void another_thread_takes_over(Job& job) {
  if (!job.transport.capabilities().any_thread || job.size() == 1) return;
  const Rank right = (job.rank() + 1) % job.size();
  const Rank left = (job.rank() + job.size() - 1) % job.size();
  for (const std::size_t size : {std::size_t{8}, std::size_t{20'000}, std::size_t{1} << 20U}) {
    std::vector<std::byte> out(size), in(size);
    Counter done(2);
    fill(out, job.rank(), right, size);
    job.transport.post_recv(left, 2, in, done.id(0));
    std::exception_ptr problem;
    std::thread([&] {
      try {
        job.transport.post_send(right, 2, out, done.id(1));
        done.wait_for(job.transport, 0);
      } catch (...) {
        problem = std::current_exception();
      }
    }).join();
    if (problem) std::rethrow_exception(problem);
    done.wait(job.transport, 2);
    expect_pattern(in, left, job.rank(), size);
  }
}

constexpr Check checks[] = {
    {"put_flush_and_get", put_flush_and_get},
    {"many_puts_outstanding", many_puts_outstanding},
    {"parts_of_different_sizes_are_guarded", parts_of_different_sizes_are_guarded},
    {"another_thread_takes_over", another_thread_takes_over}};

}  // namespace

std::span<const Check> one_sided_checks() { return checks; }

}  // namespace commtune::test
