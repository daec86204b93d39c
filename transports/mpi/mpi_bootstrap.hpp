#pragma once
#include <mpi.h>

#include "transports/bootstrap.hpp"

namespace commtune::mpi {

/// Non-blocking collectives on a communicator of its own, waited for in short sleeps.
class MpiBootstrap final : public Bootstrap {
 public:
  /// `communicator` must return errors and outlive this object.
  explicit MpiBootstrap(MPI_Comm communicator);
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return size_; }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void barrier() override;

 private:
  void wait(MPI_Request, const char* call) const;

  MPI_Comm communicator_;
  Rank rank_ = 0, size_ = 1;
};

}  // namespace commtune::mpi
