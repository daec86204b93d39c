#include "core/backoff.hpp"
#include "harness/measure.hpp"

namespace commtune {
namespace {

class Countdown final : public Sink {
 public:
  void expect(int transfers) noexcept { pending_ += transfers; }
  bool done() const noexcept { return pending_ == 0; }
  void complete(std::uint32_t /*id*/) noexcept override { --pending_; }

 private:
  int pending_ = 0;
};

}  // namespace

SyncBarrier::SyncBarrier(Transport& transport) : transport_(transport) {}

void SyncBarrier::wait() {
  const Rank size = transport_.size(), rank = transport_.rank();
  constexpr Lane lane = lane_count - 1;
  Countdown countdown;
  Backoff backoff(transport_.crowded());
  for (Rank distance = 1; distance < size; distance *= 2) {
    countdown.expect(2);
    transport_.post_recv((rank - distance + size) % size, lane, {}, {&countdown, 0});
    transport_.post_send((rank + distance) % size, lane, {}, {&countdown, 1});
    while (!countdown.done()) {
      if (transport_.poll() != 0) {
        backoff.reset();
      } else {
        backoff.pause();
      }
    }
  }
}

}  // namespace commtune
