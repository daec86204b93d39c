#include "collectives/libraries/mpi/operations.hpp"

#include <limits>

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

/// MPI has no half-precision types; collectives that only move data carry them as 16-bit integers.
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
      : comm_(comm),
        collective_(call.collective),
        count_(static_cast<int>(call.count)),
        root_(call.root),
        type_(mpi_type(call.type)),
        op_(mpi_op(call.op)),
        source_(call.in_place ? MPI_IN_PLACE : call.input.data()),
        target_(call.output.data()) {
    if (collective_ == Collective::broadcast) {
      int rank = 0;
      MPI_Comm_rank(comm, &rank);
      // MPI_Bcast works on one buffer; out of place, the root sends from its input.
      if (rank == root_) target_ = const_cast<std::byte*>(call.input.data());
    } else if (collective_ == Collective::reduce_scatter && call.in_place) {
      target_ = const_cast<std::byte*>(call.input.data());
    }
  }

  void run() override { check_mpi(blocking(), "collective"); }
  void start() override { check_mpi(nonblocking(), "non-blocking collective"); }
  bool progress() override {
    int done = 0;
    check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

 private:
  int blocking() {
    switch (collective_) {
      case Collective::allreduce:
        return MPI_Allreduce(source_, target_, count_, type_, op_, comm_);
      case Collective::broadcast:
        return MPI_Bcast(target_, count_, type_, root_, comm_);
      case Collective::allgather:
        return MPI_Allgather(source_, count_, type_, target_, count_, type_, comm_);
      case Collective::reduce_scatter:
        return MPI_Reduce_scatter_block(source_, target_, count_, type_, op_, comm_);
      case Collective::barrier:
        return MPI_Barrier(comm_);
    }
    return MPI_ERR_OTHER;
  }

  int nonblocking() {
    switch (collective_) {
      case Collective::allreduce:
        return MPI_Iallreduce(source_, target_, count_, type_, op_, comm_, &request_);
      case Collective::broadcast:
        return MPI_Ibcast(target_, count_, type_, root_, comm_, &request_);
      case Collective::allgather:
        return MPI_Iallgather(source_, count_, type_, target_, count_, type_, comm_, &request_);
      case Collective::reduce_scatter:
        return MPI_Ireduce_scatter_block(source_, target_, count_, type_, op_, comm_, &request_);
      case Collective::barrier:
        return MPI_Ibarrier(comm_, &request_);
    }
    return MPI_ERR_OTHER;
  }

  MPI_Comm comm_;
  Collective collective_;
  int count_;
  int root_;
  MPI_Datatype type_;
  MPI_Op op_;
  const void* source_;
  void* target_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::string mpi_unsupported(const Call& call) {
  if (call.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return fmt::format("{} elements exceed the 2^31-1 of an MPI count", call.count);
  }
  if (!reduces(call.collective)) return {};
  if (call.op == ReduceOp::avg) return "MPI has no average operator";
  if (call.type == DataType::float16 || call.type == DataType::bfloat16) {
    return fmt::format("MPI has no {} type", name(call.type));
  }
  return {};
}

std::unique_ptr<Operation> mpi_operation(MPI_Comm comm, const Call& call) {
  const std::string reason = mpi_unsupported(call);
  if (!reason.empty()) fail(Errc::unavailable, "native {}: {}", name(call.collective), reason);
  return std::make_unique<MpiOperation>(comm, call);
}

}  // namespace commtune
