#pragma once
#include "transports/bootstrap.hpp"
#include "transports/local/board.hpp"

namespace commtune::local {

/// Rounds of at most bootstrap_bytes per rank through the shared segment.
class LocalBootstrap final : public Bootstrap {
 public:
  LocalBootstrap(const Board& board, Rank rank) : board_(board), rank_(rank) {}
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return board_.size(); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void barrier() override;

 private:
  /// Shows `part` of a contribution of `total` bytes to everybody and waits for theirs.
  void exchange(std::span<const std::byte> part, std::size_t total);
  void wait_for(Rank peer) const;

  const Board& board_;
  Rank rank_;
  std::uint64_t round_ = 0;
};

}  // namespace commtune::local
