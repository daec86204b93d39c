#pragma once
#include <cstddef>
#include <memory>
#include <utility>

namespace commtune::local {

/// First-in first-out queue of small values in one power-of-two ring. Grows when full and never
/// shrinks, so a steady state allocates nothing.
template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return head_ == tail_; }
  std::size_t size() const noexcept { return tail_ - head_; }
  T& front() noexcept { return items_[head_ & mask_]; }
  void pop() noexcept { ++head_; }
  void push(const T& value) {
    if (size() == capacity_) grow();
    items_[tail_++ & mask_] = value;
  }

 private:
  [[gnu::noinline]] void grow() {
    const std::size_t larger = capacity_ == 0 ? 16 : capacity_ * 2;
    auto items = std::make_unique<T[]>(larger);
    std::size_t count = 0;
    for (; head_ != tail_; ++head_) items[count++] = items_[head_ & mask_];
    items_ = std::move(items);
    capacity_ = larger;
    mask_ = larger - 1;
    head_ = 0;
    tail_ = count;
  }

  std::unique_ptr<T[]> items_;
  std::size_t head_ = 0, tail_ = 0, mask_ = 0, capacity_ = 0;
};

}  // namespace commtune::local
