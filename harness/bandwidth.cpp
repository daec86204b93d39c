#include "harness/record.hpp"

namespace commtune {

std::optional<double> bus_factor(Collective collective, int ranks) {
  if (ranks <= 1) return std::nullopt;
  switch (collective) {
    case Collective::allreduce:
      return 2.0 * (ranks - 1) / ranks;
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
      return 1.0 * (ranks - 1) / ranks;
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
      return 1.0;
    case Collective::barrier:
      return std::nullopt;
  }
  return std::nullopt;
}

std::uint64_t total_bytes(Collective collective, int ranks, std::uint64_t bytes_per_rank) {
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
      return bytes_per_rank;
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
      return bytes_per_rank * static_cast<std::uint64_t>(ranks);
    case Collective::barrier:
      return 0;
  }
  return 0;
}

}  // namespace commtune
