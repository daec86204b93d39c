#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace commtune::ucx {

/// Values by ascending number, in a ring that grows to the widest span of numbers held at a time.
template <class T>
class Numbered {
 public:
  T* find(std::uint64_t number) noexcept {
    Slot& slot = slots_[number & (slots_.size() - 1)];
    return slot.used && slot.number == number ? &slot.value : nullptr;
  }
  void insert(std::uint64_t number, T value) {
    while (slots_[number & (slots_.size() - 1)].used) grow();
    slots_[number & (slots_.size() - 1)] = {true, number, std::move(value)};
  }
  void erase(std::uint64_t number) noexcept { slots_[number & (slots_.size() - 1)].used = false; }

 private:
  struct Slot {
    bool used = false;
    std::uint64_t number = 0;
    T value{};
  };
  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (Slot& slot : before) {
      if (slot.used) insert(slot.number, std::move(slot.value));
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(8);  ///< a power of two
};

}  // namespace commtune::ucx
