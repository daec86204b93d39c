#include "collectives/libraries/mpi/operations.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace commtune {
namespace {

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(Errc::peer, "{}: {}", what, std::string_view(text, static_cast<std::size_t>(length)));
}

/// MPI has no types narrower than float; collectives that only move data carry them as integers.
MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::int8:
      return MPI_INT8_T;
    case DataType::int16:
      return MPI_INT16_T;
    case DataType::int32:
      return MPI_INT32_T;
    case DataType::int64:
      return MPI_INT64_T;
    case DataType::uint8:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return MPI_UINT8_T;
    case DataType::float16:
    case DataType::bfloat16:
      return MPI_UINT16_T;
    case DataType::float32:
      return MPI_FLOAT;
    case DataType::float64:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

bool mpi_reduces(DataType type) {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return false;
    case DataType::int8:
    case DataType::int16:
    case DataType::int32:
    case DataType::int64:
    case DataType::uint8:
    case DataType::float32:
    case DataType::float64:
      break;
  }
  return true;
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return MPI_SUM;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

/// Counts and displacements of the parts of one buffer, as the v-collectives take them.
struct Parts {
  std::vector<int> counts, displacements;
  void add(std::uint64_t count) {
    const int next = counts.empty() ? 0 : displacements.back() + counts.back();
    counts.push_back(static_cast<int>(count));
    displacements.push_back(next);
  }
};

class MpiOperation final : public Operation {
 public:
  MpiOperation(MPI_Comm comm, const Call& call)
      : comm_(comm),
        collective_(call.collective),
        uneven_(!call.counts.empty()),
        count_(static_cast<int>(call.count)),
        root_(call.root),
        type_(mpi_type(call.type)),
        op_(mpi_op(call.op)),
        source_(call.input.data()),
        target_(call.output.data()) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    if (uneven_) set_parts(call);
    if (call.in_place) set_in_place(call);
    // MPI_Bcast works on one buffer; out of place, the root sends from its input.
    if (collective_ == Collective::broadcast && rank_ == root_) {
      target_ = const_cast<std::byte*>(call.input.data());
    }
  }

  void run() override {
    if (collective_ == Collective::sendrecv) return exchange();
    check_mpi(uneven_ ? blocking_uneven() : blocking(), "collective");
  }
  void start() override {
    // One buffer for both directions cannot be in flight in both at once.
    if (collective_ == Collective::sendrecv) return in_place_ ? exchange() : post_exchange();
    check_mpi(uneven_ ? nonblocking_uneven() : nonblocking(), "non-blocking collective");
  }
  bool progress() override {
    int done = 0;
    check_mpi(MPI_Testall(2, requests_, &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    return done != 0;
  }

 private:
  int next() const { return (rank_ + 1) % size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }

  void set_parts(const Call& call) {
    const auto ranks = static_cast<std::size_t>(size_), me = static_cast<std::size_t>(rank_);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (collective_ == Collective::alltoall) {
        sent_.add(call.counts[me * ranks + r]);
        received_.add(call.counts[r * ranks + me]);
      } else {
        sent_.add(call.counts[r]);
      }
    }
    if (collective_ == Collective::sendrecv) {
      sent_count_ = sent_.counts[me];
      received_count_ = sent_.counts[static_cast<std::size_t>(previous())];
    }
    count_ = sent_.counts[me];
  }

  void set_in_place(const Call& call) {
    const bool rooted_here = !rooted(collective_) || rank_ == root_;
    switch (collective_) {
      case Collective::reduce_scatter:
        target_ = const_cast<std::byte*>(call.input.data());
        source_ = MPI_IN_PLACE;
        break;
      case Collective::scatter:
        // The root's part stays where it is.
        if (rooted_here) target_ = MPI_IN_PLACE;
        break;
      case Collective::broadcast:
      case Collective::sendrecv:
      case Collective::barrier:
        break;
      case Collective::allreduce:
      case Collective::reduce:
      case Collective::allgather:
      case Collective::alltoall:
      case Collective::gather:
      case Collective::scan:
      case Collective::exscan:
        if (rooted_here) source_ = MPI_IN_PLACE;
        break;
    }
    // Rank 0 has no result of MPI_Exscan; in place it still names the buffer that holds its input.
    if (collective_ == Collective::exscan) target_ = const_cast<std::byte*>(call.input.data());
    in_place_ = true;
  }

  int blocking() {
    switch (collective_) {
      case Collective::allreduce:
        return MPI_Allreduce(source_, target_, count_, type_, op_, comm_);
      case Collective::reduce:
        return MPI_Reduce(source_, target_, count_, type_, op_, root_, comm_);
      case Collective::broadcast:
        return MPI_Bcast(target_, count_, type_, root_, comm_);
      case Collective::allgather:
        return MPI_Allgather(source_, count_, type_, target_, count_, type_, comm_);
      case Collective::reduce_scatter:
        return MPI_Reduce_scatter_block(source_, target_, count_, type_, op_, comm_);
      case Collective::alltoall:
        return MPI_Alltoall(source_, count_, type_, target_, count_, type_, comm_);
      case Collective::gather:
        return MPI_Gather(source_, count_, type_, target_, count_, type_, root_, comm_);
      case Collective::scatter:
        return MPI_Scatter(source_, count_, type_, target_, count_, type_, root_, comm_);
      case Collective::scan:
        return MPI_Scan(source_, target_, count_, type_, op_, comm_);
      case Collective::exscan:
        return MPI_Exscan(source_, target_, count_, type_, op_, comm_);
      case Collective::barrier:
        return MPI_Barrier(comm_);
      case Collective::sendrecv:
        break;
    }
    return MPI_ERR_OTHER;
  }

  int blocking_uneven() {
    const int* counts = sent_.counts.data();
    const int* places = sent_.displacements.data();
    switch (collective_) {
      case Collective::allgather:
        return MPI_Allgatherv(source_, count_, type_, target_, counts, places, type_, comm_);
      case Collective::reduce_scatter:
        return MPI_Reduce_scatter(source_, target_, counts, type_, op_, comm_);
      case Collective::alltoall:
        return MPI_Alltoallv(source_, counts, places, type_, target_, received_.counts.data(),
                             received_.displacements.data(), type_, comm_);
      case Collective::gather:
        return MPI_Gatherv(source_, count_, type_, target_, counts, places, type_, root_, comm_);
      case Collective::scatter:
        return MPI_Scatterv(source_, counts, places, type_, target_, count_, type_, root_, comm_);
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

  int nonblocking() {
    MPI_Request* request = requests_;
    switch (collective_) {
      case Collective::allreduce:
        return MPI_Iallreduce(source_, target_, count_, type_, op_, comm_, request);
      case Collective::reduce:
        return MPI_Ireduce(source_, target_, count_, type_, op_, root_, comm_, request);
      case Collective::broadcast:
        return MPI_Ibcast(target_, count_, type_, root_, comm_, request);
      case Collective::allgather:
        return MPI_Iallgather(source_, count_, type_, target_, count_, type_, comm_, request);
      case Collective::reduce_scatter:
        return MPI_Ireduce_scatter_block(source_, target_, count_, type_, op_, comm_, request);
      case Collective::alltoall:
        return MPI_Ialltoall(source_, count_, type_, target_, count_, type_, comm_, request);
      case Collective::gather:
        return MPI_Igather(source_, count_, type_, target_, count_, type_, root_, comm_, request);
      case Collective::scatter:
        return MPI_Iscatter(source_, count_, type_, target_, count_, type_, root_, comm_, request);
      case Collective::scan:
        return MPI_Iscan(source_, target_, count_, type_, op_, comm_, request);
      case Collective::exscan:
        return MPI_Iexscan(source_, target_, count_, type_, op_, comm_, request);
      case Collective::barrier:
        return MPI_Ibarrier(comm_, request);
      case Collective::sendrecv:
        break;
    }
    return MPI_ERR_OTHER;
  }

  int nonblocking_uneven() {
    const int* counts = sent_.counts.data();
    const int* places = sent_.displacements.data();
    MPI_Request* request = requests_;
    switch (collective_) {
      case Collective::allgather:
        return MPI_Iallgatherv(source_, count_, type_, target_, counts, places, type_, comm_,
                               request);
      case Collective::reduce_scatter:
        return MPI_Ireduce_scatter(source_, target_, counts, type_, op_, comm_, request);
      case Collective::alltoall:
        return MPI_Ialltoallv(source_, counts, places, type_, target_, received_.counts.data(),
                              received_.displacements.data(), type_, comm_, request);
      case Collective::gather:
        return MPI_Igatherv(source_, count_, type_, target_, counts, places, type_, root_, comm_,
                            request);
      case Collective::scatter:
        return MPI_Iscatterv(source_, counts, places, type_, target_, count_, type_, root_, comm_,
                             request);
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

  void exchange() {
    constexpr int tag = 0;
    const int out = uneven_ ? sent_count_ : count_, in = uneven_ ? received_count_ : count_;
    if (in_place_) {
      check_mpi(MPI_Sendrecv_replace(target_, out, type_, next(), tag, previous(), tag, comm_,
                                     MPI_STATUS_IGNORE),
                "MPI_Sendrecv_replace");
      return;
    }
    check_mpi(MPI_Sendrecv(source_, out, type_, next(), tag, target_, in, type_, previous(), tag,
                           comm_, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
  }

  void post_exchange() {
    constexpr int tag = 0;
    const int out = uneven_ ? sent_count_ : count_, in = uneven_ ? received_count_ : count_;
    check_mpi(MPI_Irecv(target_, in, type_, previous(), tag, comm_, &requests_[0]), "MPI_Irecv");
    check_mpi(MPI_Isend(source_, out, type_, next(), tag, comm_, &requests_[1]), "MPI_Isend");
  }

  MPI_Comm comm_;
  Collective collective_;
  bool uneven_, in_place_ = false;
  int count_, root_, rank_ = 0, size_ = 1, sent_count_ = 0, received_count_ = 0;
  MPI_Datatype type_;
  MPI_Op op_;
  const void* source_;
  void* target_;
  Parts sent_, received_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace

std::string mpi_unsupported(const Call& call) {
  const Counts counts = counts_of(call);
  const std::uint64_t all =
      call.counts.empty()
          ? call.count
          : std::accumulate(call.counts.begin(), call.counts.end(), std::uint64_t{0});
  if (std::max(all, counts.largest()) >
      static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return fmt::format("{} elements exceed the 2^31-1 of an MPI count", all);
  }
  if (!reduces(call.collective)) return {};
  if (call.op == ReduceOp::avg) return "MPI has no average operator";
  if (!mpi_reduces(call.type)) return fmt::format("MPI has no {} type", name(call.type));
  return {};
}

std::unique_ptr<Operation> mpi_operation(MPI_Comm comm, const Call& call) {
  const std::string reason = mpi_unsupported(call);
  if (!reason.empty()) fail(Errc::unavailable, "native {}: {}", name(call.collective), reason);
  return std::make_unique<MpiOperation>(comm, call);
}

}  // namespace commtune
