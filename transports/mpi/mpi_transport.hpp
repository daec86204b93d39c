#pragma once
#include <mpi.h>
#include <vector>

#include "transports/transport.hpp"

namespace commtune::mpi {

/// Messages through MPI_Isend and MPI_Irecv; the lane is the tag.
class MpiTransport final : public Transport {
 public:
  /// `communicator` must return errors and outlive this object.
  MpiTransport(MPI_Comm communicator, bool crowded);

  std::string_view name() const noexcept override { return "mpi"; }
  Capabilities capabilities() const noexcept override { return {}; }
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return size_; }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) override;
  std::size_t poll() override;
  void send(Rank to, std::span<const std::byte> data) override;
  void recv(Rank from, std::span<std::byte> data) override;
  bool crowded() const noexcept override { return crowded_; }

 private:
  struct Posted {
    Completion completion;
    std::size_t bytes;
    Rank peer;
    Lane lane;
    bool receives;
  };
  int checked_count(Rank peer, Lane lane, std::size_t bytes) const;
  [[noreturn]] void refuse(Rank peer, Lane lane, std::size_t bytes) const;
  void check_received(const Posted&, const MPI_Status&, int error) const;
  void add(const Posted&, MPI_Request);
  std::size_t test_one();
  std::size_t test_some();

  MPI_Comm communicator_;
  bool crowded_;
  Rank rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;  ///< parallel to posted_
  std::vector<Posted> posted_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<Completion> finished_;
};

}  // namespace commtune::mpi
