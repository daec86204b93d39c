#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace commtune::local {

/// First-in first-out queue of small values in one power-of-two ring. Grows when full and never
/// shrinks, so a steady state allocates nothing.
template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return head_ == tail_; }
  std::size_t size() const noexcept { return tail_ - head_; }
  T& front() noexcept { return items_[head_ & (items_.size() - 1)]; }
  void pop() noexcept { ++head_; }
  void push(const T& value) {
    if (size() == items_.size()) grow();
    items_[tail_++ & (items_.size() - 1)] = value;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : items_.size() * 2);
    std::size_t count = 0;
    for (; head_ != tail_; ++head_) larger[count++] = items_[head_ & (items_.size() - 1)];
    items_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> items_;
  std::size_t head_ = 0, tail_ = 0;
};

}  // namespace commtune::local
