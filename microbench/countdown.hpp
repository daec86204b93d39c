#pragma once
#include <cstdint>

#include "core/backoff.hpp"
#include "transports/transport.hpp"

namespace commtune {

/// Counts transfers down to none.
class Countdown final : public Sink {
 public:
  void complete(std::uint32_t) noexcept override { --open_; }
  void expect(std::uint64_t count) noexcept { open_ = count; }
  Completion one() noexcept { return {this, 0}; }
  void wait(Transport& transport) {
    Backoff backoff(transport.crowded());
    while (open_ != 0) {
      if (transport.poll() != 0) {
        backoff.reset();
      } else {
        backoff.pause();
      }
    }
  }

 private:
  std::uint64_t open_ = 0;
};

}  // namespace commtune
