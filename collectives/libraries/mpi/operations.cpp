#include "collectives/libraries/mpi/operations.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "collectives/libraries/mpi/calls.hpp"
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

class MpiOperation final : public Operation {
 public:
  MpiOperation(MPI_Comm comm, const Call& call)
      : c_{.comm = comm,
           .collective = call.collective,
           .uneven = !call.counts.empty(),
           .count = static_cast<int>(call.count),
           .root = call.root,
           .type = mpi_type(call.type),
           .op = mpi_op(call.op),
           .source = call.input.data(),
           .target = call.output.data(),
           .sent = {},
           .received = {}} {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    if (c_.uneven) set_parts(call);
    if (call.in_place) set_in_place(call);
    // MPI_Bcast works on one buffer; out of place, the root sends from its input.
    if (c_.collective == Collective::broadcast && rank_ == c_.root) {
      c_.target = const_cast<std::byte*>(call.input.data());
    }
  }

  void run() override {
    if (c_.collective == Collective::sendrecv) return exchange();
    check_mpi(blocking(c_), "collective");
  }
  void start() override {
    // One buffer for both directions cannot be in flight in both at once.
    if (c_.collective == Collective::sendrecv) return in_place_ ? exchange() : post_exchange();
    check_mpi(nonblocking(c_, requests_), "non-blocking collective");
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
      if (c_.collective == Collective::alltoall) {
        c_.sent.add(call.counts[me * ranks + r]);
        c_.received.add(call.counts[r * ranks + me]);
      } else {
        c_.sent.add(call.counts[r]);
      }
    }
    if (c_.collective == Collective::sendrecv) {
      sent_count_ = c_.sent.counts[me];
      received_count_ = c_.sent.counts[static_cast<std::size_t>(previous())];
    }
    c_.count = c_.sent.counts[me];
  }

  void set_in_place(const Call& call) {
    const bool rooted_here = !rooted(c_.collective) || rank_ == c_.root;
    switch (c_.collective) {
      case Collective::reduce_scatter:
        c_.target = const_cast<std::byte*>(call.input.data());
        c_.source = MPI_IN_PLACE;
        break;
      case Collective::scatter:
        // The root's part stays where it is.
        if (rooted_here) c_.target = MPI_IN_PLACE;
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
        if (rooted_here) c_.source = MPI_IN_PLACE;
        break;
    }
    // Rank 0 has no result of MPI_Exscan; in place it still names the buffer that holds its input.
    if (c_.collective == Collective::exscan) c_.target = const_cast<std::byte*>(call.input.data());
    in_place_ = true;
  }

  void exchange() {
    constexpr int tag = 0;
    const int out = c_.uneven ? sent_count_ : c_.count, in = c_.uneven ? received_count_ : c_.count;
    if (in_place_) {
      check_mpi(MPI_Sendrecv_replace(c_.target, out, c_.type, next(), tag, previous(), tag, c_.comm,
                                     MPI_STATUS_IGNORE),
                "MPI_Sendrecv_replace");
      return;
    }
    check_mpi(MPI_Sendrecv(c_.source, out, c_.type, next(), tag, c_.target, in, c_.type, previous(),
                           tag, c_.comm, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
  }

  void post_exchange() {
    constexpr int tag = 0;
    const int out = c_.uneven ? sent_count_ : c_.count, in = c_.uneven ? received_count_ : c_.count;
    check_mpi(MPI_Irecv(c_.target, in, c_.type, previous(), tag, c_.comm, &requests_[0]),
              "MPI_Irecv");
    check_mpi(MPI_Isend(c_.source, out, c_.type, next(), tag, c_.comm, &requests_[1]), "MPI_Isend");
  }

  MpiCall c_;
  bool in_place_ = false;
  int rank_ = 0, size_ = 1, sent_count_ = 0, received_count_ = 0;
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
