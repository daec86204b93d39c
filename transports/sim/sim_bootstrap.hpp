#pragma once
#include <simgrid/s4u.hpp>
#include <vector>

#include "transports/bootstrap.hpp"
#include "transports/job_health.hpp"

namespace commtune::sim {

/// Virtual seconds after which a wait is one for something that never comes.
inline constexpr double never_s = 1e3;

/// What the ranks of a simulated job exchange beside the network: takes no virtual time.
class Exchange {
 public:
  Exchange(Rank ranks, const JobHealth& health)
      : health_(health),
        ranks_(ranks),
        mutex_(simgrid::s4u::Mutex::create()),
        all_here_(simgrid::s4u::ConditionVariable::create()),
        parts_(2) {
    for (auto& each : parts_) each.resize(static_cast<std::size_t>(ranks));
  }
  Rank size() const noexcept { return ranks_; }
  const JobHealth& health() const noexcept { return health_; }

 private:
  friend class SimBootstrap;
  const JobHealth& health_;
  Rank ranks_;
  simgrid::s4u::MutexPtr mutex_;
  simgrid::s4u::ConditionVariablePtr all_here_;
  Rank here_ = 0;
  std::uint64_t meetings_ = 0;
  std::vector<std::vector<std::vector<std::byte>>> parts_;  ///< two rounds alternate, by rank
};

class SimBootstrap final : public Bootstrap {
 public:
  SimBootstrap(Exchange& exchange, Rank rank) : exchange_(exchange), rank_(rank) {}
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return exchange_.size(); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void barrier() override { meet(); }
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) override;

 private:
  /// Shows `mine` to everybody, waits for all.
  void show(std::span<const std::byte> mine);
  void collect(std::size_t bytes, std::span<std::byte> all) const;
  /// Waits for all ranks. Throws Error(peer) when one has failed or never comes.
  void meet();

  Exchange& exchange_;
  Rank rank_;
  std::uint64_t round_ = 0;
};

}  // namespace commtune::sim
