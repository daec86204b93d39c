#include "transports/drive.hpp"

#include <atomic>
#include <exception>
#include <thread>

namespace commtune {

void allgather_while_driving(Bootstrap& bootstrap, std::span<const std::byte> mine,
                             std::span<std::byte> all, const std::function<void()>& drive) {
  std::atomic<bool> gathered{false};
  std::exception_ptr driving, gathering;
  std::thread driver([&] {
    try {
      while (!gathered.load(std::memory_order_acquire)) drive();
    } catch (...) {
      driving = std::current_exception();
    }
  });
  try {
    bootstrap.allgather(mine, all);
  } catch (...) {
    gathering = std::current_exception();
  }
  gathered.store(true, std::memory_order_release);
  driver.join();
  if (gathering) std::rethrow_exception(gathering);
  if (driving) std::rethrow_exception(driving);
}

}  // namespace commtune
