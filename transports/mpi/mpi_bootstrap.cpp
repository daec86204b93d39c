#include "transports/mpi/mpi_bootstrap.hpp"

#include <climits>
#include <ctime>

#include "core/error.hpp"
#include "transports/mpi/check.hpp"

namespace commtune::mpi {

MpiBootstrap::MpiBootstrap(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

void MpiBootstrap::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto n = static_cast<std::size_t>(size_);
  require(all.size() == n * mine.size(),
          "allgather of {} bytes from {} ranks needs a result of {} bytes, not {}", mine.size(), n,
          n * mine.size(), all.size());
  require(mine.size() <= INT_MAX, "allgather of {} bytes per rank exceeds {}", mine.size(),
          INT_MAX);
  const int count = static_cast<int>(mine.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, communicator_,
                       &request),
        "MPI_Iallgather", rank_);
  wait(request, "MPI_Iallgather");
}

void MpiBootstrap::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier", rank_);
  wait(request, "MPI_Ibarrier");
}

void MpiBootstrap::wait(MPI_Request request, const char* call) const {
  constexpr int short_spin = 200;
  for (int tests = 0;; ++tests) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call, rank_);
    if (done != 0) return;
    if (tests < short_spin) continue;
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace commtune::mpi
