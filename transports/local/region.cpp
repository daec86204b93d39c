#include <atomic>
#include <cstring>

#include "transports/bootstrap.hpp"
#include "transports/local/endpoint.hpp"

namespace commtune::local {

/// Parts in the ranks' arenas, which have the same address in every rank: access is a copy.
class LocalRegion final : public Region {
 public:
  LocalRegion(Endpoint& endpoint, Bootstrap& bootstrap, std::size_t bytes)
      : endpoint_(endpoint),
        memory_(endpoint, bytes),
        parts_(allgather_value(bootstrap, Part{memory_.bytes().data(), bytes})) {}

  std::span<std::byte> mine() noexcept override { return memory_.bytes(); }
  std::size_t bytes(Rank rank) const noexcept override {
    return parts_[static_cast<std::size_t>(rank)].bytes;
  }
  void post_put(Rank to, std::size_t offset, std::span<const std::byte> data,
                Completion completion) override {
    std::byte* const into = place(to, offset, data.size());
    if (!data.empty()) std::memcpy(into, data.data(), data.size());
    endpoint_.ready_.push(completion);
  }
  void post_get(Rank from, std::size_t offset, std::span<std::byte> data,
                Completion completion) override {
    const std::byte* const source = place(from, offset, data.size());
    if (!data.empty()) std::memcpy(data.data(), source, data.size());
    endpoint_.ready_.push(completion);
  }
  void post_flush(Rank to, Completion completion) override {
    check_region_access(to, endpoint_.size(), 0, 0, 0);
    flushes_.fetch_add(1, std::memory_order_seq_cst);  // drains the store buffer before it returns
    endpoint_.ready_.push(completion);
  }

 private:
  struct Part {
    std::byte* data;
    std::size_t bytes;
  };
  std::byte* place(Rank peer, std::size_t offset, std::size_t bytes) const {
    const bool known = peer >= 0 && peer < endpoint_.size();
    check_region_access(peer, endpoint_.size(), offset, bytes, known ? this->bytes(peer) : 0);
    return parts_[static_cast<std::size_t>(peer)].data + offset;
  }

  Endpoint& endpoint_;
  Buffer memory_;
  std::vector<Part> parts_;
  std::atomic<std::uint32_t> flushes_{0};
};

std::unique_ptr<Region> Endpoint::allocate_region(Bootstrap& bootstrap, std::size_t bytes) {
  return std::make_unique<LocalRegion>(*this, bootstrap, bytes);
}

}  // namespace commtune::local
