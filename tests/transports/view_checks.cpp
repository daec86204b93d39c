#include <algorithm>
#include <array>
#include <deque>

#include "conformance.hpp"

namespace commtune::test {
namespace {

bool is_pair(const Job& job) { return job.size() > 1 && job.rank() < 2; }
Rank other(const Job& job) { return 1 - job.rank(); }
Rank right_of(const Job& job) { return (job.rank() + 1) % job.size(); }
Rank left_of(const Job& job) { return (job.rank() + job.size() - 1) % job.size(); }

constexpr std::array<std::size_t, 19> sizes{0,     1,      48,     49,      240,    241,   1024,
                                            1025,  4096,   8191,   8192,    8193,   40000, 65535,
                                            65536, 262144, 262145, 1000003, 5242880};

/// Sizes of a sequence of messages, so that neighbours travel differently.
std::size_t mixed_size(std::size_t number) {
  constexpr std::array<std::size_t, 9> cycle{8, 5000, 0, 300, 20'000, 48, 1500, 70'000, 240};
  return cycle[number % cycle.size()];
}

void views_of_every_size(Job& job) {
  if (job.size() == 1 || !job.transport.capabilities().views) return;
  for (const std::size_t size : sizes) {
    std::vector<std::byte> private_memory(size);
    Buffer buffer(job.transport, size);
    for (const std::span<std::byte> out : {std::span(private_memory), buffer.bytes()}) {
      fill(out, job.rank(), right_of(job), size);
      Counter done(2);
      View view;
      job.transport.post_view(left_of(job), 6, size, view, done.id(0));
      job.transport.post_send(right_of(job), 6, out, done.id(1));
      done.wait_for(job.transport, 0);
      expect(view.data != nullptr, "a view of {} bytes has no data", size);
      expect_pattern({view.data, size}, left_of(job), job.rank(), size);
      job.transport.release_view(view);
      done.wait(job.transport, 2);
    }
  }
}

void a_mapped_send_completes_after_the_release(Job& job) {
  if (!job.transport.capabilities().views) return;
  constexpr std::size_t bytes = 100'000;
  Buffer buffer(job.transport, bytes);
  Counter done;
  View view;
  if (is_pair(job) && job.rank() == 0) {
    fill(buffer.bytes(), 0, 1, 0);
    job.transport.post_send(1, 2, buffer.bytes(), done.id());
  } else if (is_pair(job)) {
    job.transport.post_view(0, 2, bytes, view, done.id());
    done.wait(job.transport, 1);
  }
  job.bootstrap.barrier();
  if (is_pair(job) && job.rank() == 0) {
    for (int i = 0; i < 100; ++i) job.transport.poll();
    expect(done.seen(0) == 0, "a send finished while its view was held");
  }
  job.bootstrap.barrier();
  if (is_pair(job) && job.rank() == 1) {
    expect_pattern({view.data, bytes}, 0, 1, 0);
    job.transport.release_view(view);
  } else if (is_pair(job)) {
    done.wait(job.transport, 1);
  }
}

/// Both ranks send `messages` of mixed sizes from private and from allocated memory.
class Traffic {
 public:
  Traffic(Job& job, std::size_t messages, Lane lane)
      : job_(job), sent_(messages), private_(messages) {
    for (std::size_t i = 0; i < messages; ++i) {
      const std::size_t bytes = mixed_size(i);
      if (i % 2 == 0) {
        buffers_.emplace_back(job.transport, bytes);
      } else {
        private_[i].resize(bytes);
      }
      const std::span<std::byte> out = i % 2 == 0 ? buffers_.back().bytes() : private_[i];
      fill(out, job.rank(), other(job), i);
      job.transport.post_send(other(job), lane, out, sent_.id(i));
    }
  }
  void wait() { sent_.wait(job_.transport, private_.size()); }
  void check(const View& view, std::size_t number) const {
    expect_pattern({view.data, mixed_size(number)}, other(job_), job_.rank(), number);
  }

 private:
  Job& job_;
  Counter sent_;
  std::vector<std::vector<std::byte>> private_;
  std::deque<Buffer> buffers_;
};

void views_released_in_any_order(Job& job) {
  if (!is_pair(job) || !job.transport.capabilities().views) return;
  constexpr std::size_t messages = 90, held_at_once = 18;
  Traffic traffic(job, messages, 7);
  for (std::size_t first = 0; first < messages; first += held_at_once) {
    std::array<View, held_at_once> views;
    Counter arrived(held_at_once);
    for (std::size_t k = 0; k < held_at_once; ++k) {
      job.transport.post_view(other(job), 7, mixed_size(first + k), views[k], arrived.id(k));
    }
    arrived.wait(job.transport, held_at_once);
    for (std::size_t step = 0; step < held_at_once; ++step) {
      const std::size_t k = (step * 7 + first) % held_at_once;
      traffic.check(views[k], first + k);
      job.transport.release_view(views[k]);
    }
  }
  traffic.wait();
}

/// The oldest view stays held while others come and go.
void a_held_view_keeps_its_bytes(Job& job) {
  if (!is_pair(job) || !job.transport.capabilities().views) return;
  constexpr std::size_t messages = 300, held = 15;
  Traffic traffic(job, messages, 8);
  std::vector<View> views(messages);
  Counter arrived(messages);
  for (std::size_t i = 0; i < messages; ++i) {
    job.transport.post_view(other(job), 8, mixed_size(i), views[i], arrived.id(i));
  }
  for (std::size_t i = 0; i < messages; ++i) {
    arrived.wait_for(job.transport, i);
    const bool keeps = i % held == 0;
    if (!keeps) {
      traffic.check(views[i], i);
      job.transport.release_view(views[i]);
    }
    if (i % held == held - 1) {
      traffic.check(views[i + 1 - held], i + 1 - held);
      job.transport.release_view(views[i + 1 - held]);
    }
  }
  traffic.wait();
}

void views_and_receives_share_a_lane(Job& job) {
  if (!is_pair(job) || !job.transport.capabilities().views) return;
  constexpr std::size_t messages = 200;
  Traffic traffic(job, messages, 9);
  std::vector<View> views(messages);
  std::vector<std::vector<std::byte>> in(messages);
  Counter arrived(messages);
  for (std::size_t i = 0; i < messages; ++i) {
    if (i % 3 == 0) {
      job.transport.post_view(other(job), 9, mixed_size(i), views[i], arrived.id(i));
    } else {
      in[i].resize(mixed_size(i));
      job.transport.post_recv(other(job), 9, in[i], arrived.id(i));
    }
  }
  for (std::size_t i = 0; i < messages; ++i) {
    arrived.wait_for(job.transport, i);
    if (i % 3 != 0) {
      expect_pattern(in[i], other(job), job.rank(), i);
      continue;
    }
    traffic.check(views[i], i);
    job.transport.release_view(views[i]);
  }
  traffic.wait();
}

void views_are_refused_where_there_are_none(Job& job) {
  if (job.transport.capabilities().views || !is_pair(job)) return;
  View view;
  Counter done;
  try {
    job.transport.post_view(other(job), 0, 8, view, done.id());
  } catch (const Error& error) {
    expect(error.code() == Errc::usage, "views are refused with another error");
    return;
  }
  expect(false, "a transport without views accepts one");
}

void shared_memory_is_known(Job& job) {
  std::vector<std::byte> private_memory(100);
  Buffer buffer(job.transport, 10'000);
  const bool mapped = job.transport.capabilities().mapped_memory;
  expect(job.transport.shares(buffer.bytes()) == mapped, "allocated memory is shared: {}", !mapped);
  const bool threads = job.transport.name() == "threads";
  expect(job.transport.shares(private_memory) == threads, "private memory is shared: {}", !threads);
}

constexpr std::array checks{
    Check{"views_of_every_size", views_of_every_size},
    Check{"a_mapped_send_completes_after_the_release", a_mapped_send_completes_after_the_release},
    Check{"views_released_in_any_order", views_released_in_any_order},
    Check{"a_held_view_keeps_its_bytes", a_held_view_keeps_its_bytes},
    Check{"views_and_receives_share_a_lane", views_and_receives_share_a_lane},
    Check{"views_are_refused_where_there_are_none", views_are_refused_where_there_are_none},
    Check{"shared_memory_is_known", shared_memory_is_known},
};

}  // namespace

std::span<const Check> view_checks() { return checks; }

}  // namespace commtune::test
