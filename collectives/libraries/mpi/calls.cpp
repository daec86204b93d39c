#include "collectives/libraries/mpi/calls.hpp"

namespace commtune {
namespace {

int blocking_even(const MpiCall& c) {
  switch (c.collective) {
    case Collective::allreduce:
      return MPI_Allreduce(c.source, c.target, c.count, c.type, c.op, c.comm);
    case Collective::reduce:
      return MPI_Reduce(c.source, c.target, c.count, c.type, c.op, c.root, c.comm);
    case Collective::broadcast:
      return MPI_Bcast(c.target, c.count, c.type, c.root, c.comm);
    case Collective::allgather:
      return MPI_Allgather(c.source, c.count, c.type, c.target, c.count, c.type, c.comm);
    case Collective::reduce_scatter:
      return MPI_Reduce_scatter_block(c.source, c.target, c.count, c.type, c.op, c.comm);
    case Collective::alltoall:
      return MPI_Alltoall(c.source, c.count, c.type, c.target, c.count, c.type, c.comm);
    case Collective::gather:
      return MPI_Gather(c.source, c.count, c.type, c.target, c.count, c.type, c.root, c.comm);
    case Collective::scatter:
      return MPI_Scatter(c.source, c.count, c.type, c.target, c.count, c.type, c.root, c.comm);
    case Collective::scan:
      return MPI_Scan(c.source, c.target, c.count, c.type, c.op, c.comm);
    case Collective::exscan:
      return MPI_Exscan(c.source, c.target, c.count, c.type, c.op, c.comm);
    case Collective::barrier:
      return MPI_Barrier(c.comm);
    case Collective::sendrecv:
      break;
  }
  return MPI_ERR_OTHER;
}

int blocking_uneven(const MpiCall& c) {
  const int* counts = c.sent.counts.data();
  const int* places = c.sent.displacements.data();
  switch (c.collective) {
    case Collective::allgather:
      return MPI_Allgatherv(c.source, c.count, c.type, c.target, counts, places, c.type, c.comm);
    case Collective::reduce_scatter:
      return MPI_Reduce_scatter(c.source, c.target, counts, c.type, c.op, c.comm);
    case Collective::alltoall:
      return MPI_Alltoallv(c.source, counts, places, c.type, c.target, c.received.counts.data(),
                           c.received.displacements.data(), c.type, c.comm);
    case Collective::gather:
      return MPI_Gatherv(c.source, c.count, c.type, c.target, counts, places, c.type, c.root,
                         c.comm);
    case Collective::scatter:
      return MPI_Scatterv(c.source, counts, places, c.type, c.target, c.count, c.type, c.root,
                          c.comm);
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
    case Collective::barrier:
      break;
  }
  return MPI_ERR_OTHER;
}

int nonblocking_even(const MpiCall& c, MPI_Request* request) {
  switch (c.collective) {
    case Collective::allreduce:
      return MPI_Iallreduce(c.source, c.target, c.count, c.type, c.op, c.comm, request);
    case Collective::reduce:
      return MPI_Ireduce(c.source, c.target, c.count, c.type, c.op, c.root, c.comm, request);
    case Collective::broadcast:
      return MPI_Ibcast(c.target, c.count, c.type, c.root, c.comm, request);
    case Collective::allgather:
      return MPI_Iallgather(c.source, c.count, c.type, c.target, c.count, c.type, c.comm, request);
    case Collective::reduce_scatter:
      return MPI_Ireduce_scatter_block(c.source, c.target, c.count, c.type, c.op, c.comm, request);
    case Collective::alltoall:
      return MPI_Ialltoall(c.source, c.count, c.type, c.target, c.count, c.type, c.comm, request);
    case Collective::gather:
      return MPI_Igather(c.source, c.count, c.type, c.target, c.count, c.type, c.root, c.comm,
                         request);
    case Collective::scatter:
      return MPI_Iscatter(c.source, c.count, c.type, c.target, c.count, c.type, c.root, c.comm,
                          request);
    case Collective::scan:
      return MPI_Iscan(c.source, c.target, c.count, c.type, c.op, c.comm, request);
    case Collective::exscan:
      return MPI_Iexscan(c.source, c.target, c.count, c.type, c.op, c.comm, request);
    case Collective::barrier:
      return MPI_Ibarrier(c.comm, request);
    case Collective::sendrecv:
      break;
  }
  return MPI_ERR_OTHER;
}

int nonblocking_uneven(const MpiCall& c, MPI_Request* request) {
  const int* counts = c.sent.counts.data();
  const int* places = c.sent.displacements.data();
  switch (c.collective) {
    case Collective::allgather:
      return MPI_Iallgatherv(c.source, c.count, c.type, c.target, counts, places, c.type, c.comm,
                             request);
    case Collective::reduce_scatter:
      return MPI_Ireduce_scatter(c.source, c.target, counts, c.type, c.op, c.comm, request);
    case Collective::alltoall:
      return MPI_Ialltoallv(c.source, counts, places, c.type, c.target, c.received.counts.data(),
                            c.received.displacements.data(), c.type, c.comm, request);
    case Collective::gather:
      return MPI_Igatherv(c.source, c.count, c.type, c.target, counts, places, c.type, c.root,
                          c.comm, request);
    case Collective::scatter:
      return MPI_Iscatterv(c.source, counts, places, c.type, c.target, c.count, c.type, c.root,
                           c.comm, request);
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
    case Collective::barrier:
      break;
  }
  return MPI_ERR_OTHER;
}

}  // namespace

int blocking(const MpiCall& c) { return c.uneven ? blocking_uneven(c) : blocking_even(c); }

int nonblocking(const MpiCall& c, MPI_Request* request) {
  return c.uneven ? nonblocking_uneven(c, request) : nonblocking_even(c, request);
}

}  // namespace commtune
