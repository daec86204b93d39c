#pragma once
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

#include "transports/module.hpp"

namespace commtune::sim {

/// One rank of a simulated cluster. A transfer is a SimGrid communication between the mailbox of
/// its pair and lane; it begins when both ends have posted it. The bytes are really moved.
class SimTransport final : public Transport {
 public:
  /// `rates` is null when local work is free.
  SimTransport(const Simulation& simulation, Rank rank, const WorkRates* rates)
      : simulation_(simulation), rank_(rank), size_(simulation.ranks), rates_(rates) {}
  std::string_view name() const noexcept override { return "sim"; }
  Capabilities capabilities() const noexcept override { return {.simulated_time = true}; }
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return size_; }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) override;
  /// The first poll after a post finds nothing. Others wait for a completion, at most a millisecond
  /// of virtual time: a caller that polls again has nothing else to do.
  std::size_t poll() override;
  std::int64_t now_ns() const noexcept override;
  const WorkRates* work_rates() const noexcept override { return rates_; }
  /// Short work adds up to `debt_limit_ns` before SimGrid is told, which costs as much as a
  /// message; the clock shows it at once.
  void elapse(double ns) override;
  bool crowded() const noexcept override { return false; }

 private:
  /// A message as SimGrid carries it to the receiver. Both ends complete at the same moment, in any
  /// order; the later one deletes it.
  struct Message {
    std::span<const std::byte> data;
    std::vector<std::byte> kept;  ///< the bytes, when the sender was first
    bool one_done = false;
  };
  struct Pending {
    Completion completion;
    Message* message = nullptr;  ///< receives: SimGrid puts it here on arrival
    std::span<std::byte> data;   ///< receives
    Rank peer = 0;
    Lane lane = 0;
    bool receives = false;
  };
  void check_arguments(Rank peer, Lane) const;
  simgrid::s4u::Mailbox* mailbox(Rank from, Rank to, Lane);
  Pending* take_pending();
  void finish(std::size_t index);
  void receive(const Pending&, const Message&) const;
  [[noreturn]] void fail_waiting() const;
  void pay_debt();

  const Simulation& simulation_;
  Rank rank_, size_;
  const WorkRates* rates_;
  double debt_ns_ = 0;  ///< of local work, not yet slept off
  std::vector<simgrid::s4u::CommPtr> comms_;
  std::vector<Pending*> pending_;  ///< of comms_, element by element
  std::vector<std::unique_ptr<Pending>> all_;
  std::vector<Pending*> free_;
  struct Known {
    std::uint64_t key;
    simgrid::s4u::Mailbox* mailbox;
  };
  std::vector<Known> mailboxes_;  ///< those used so far
  std::uint32_t completions_ = 0;
  double waited_s_ = 0;  ///< virtual seconds since the last completion
  bool fresh_ = false;   ///< something was posted since the last poll
};

}  // namespace commtune::sim
