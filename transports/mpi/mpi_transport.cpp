#include "transports/mpi/mpi_transport.hpp"

#include <algorithm>
#include <climits>

#include "core/error.hpp"
#include "transports/mpi/check.hpp"

namespace commtune::mpi {

MpiTransport::MpiTransport(MPI_Comm communicator, bool crowded)
    : communicator_(communicator), crowded_(crowded) {
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

int MpiTransport::checked_count(Rank peer, Lane lane, std::size_t bytes) const {
  const bool valid =
      peer >= 0 && peer < size_ && peer != rank_ && lane < lane_count && bytes <= INT_MAX;
  if (__builtin_expect(static_cast<long>(valid), 1L) == 0) refuse(peer, lane, bytes);
  return static_cast<int>(bytes);
}

[[gnu::cold, gnu::noinline]] void MpiTransport::refuse(Rank peer, Lane lane,
                                                       std::size_t bytes) const {
  require(peer >= 0 && peer < size_, "rank {} is not one of the {} ranks", peer, size_);
  require(peer != rank_, "rank {} cannot send to or receive from itself", rank_);
  require(lane < lane_count, "lane {} is not one of the {} lanes", lane, lane_count);
  fail(Errc::usage, "{} bytes exceed what one MPI message may hold ({}); cut the message", bytes,
       INT_MAX);
}

void MpiTransport::add(const Posted& posted, MPI_Request request) {
  requests_.push_back(request);
  posted_.push_back(posted);
  if (indices_.size() < requests_.capacity()) {
    indices_.resize(requests_.capacity());
    statuses_.resize(requests_.capacity());
    finished_.reserve(requests_.capacity());
  }
}

void MpiTransport::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                             Completion completion) {
  const int count = checked_count(to, lane, data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(
      MPI_Isend(data.data(), count, MPI_BYTE, to, static_cast<int>(lane), communicator_, &request),
      "MPI_Isend", rank_);
  add({completion, data.size(), to, lane, false}, request);
}

void MpiTransport::post_recv(Rank from, Lane lane, std::span<std::byte> data,
                             Completion completion) {
  const int count = checked_count(from, lane, data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(data.data(), count, MPI_BYTE, from, static_cast<int>(lane), communicator_,
                  &request),
        "MPI_Irecv", rank_);
  add({completion, data.size(), from, lane, true}, request);
}

std::size_t MpiTransport::poll() {
  if (requests_.empty()) return 0;
  return requests_.size() == 1 ? test_one() : test_some();
}

std::size_t MpiTransport::test_one() {
  int done = 0;
  MPI_Status status;
  const int error = MPI_Test(requests_.data(), &done, &status);
  if (error == MPI_SUCCESS && done == 0) return 0;
  const Posted posted = posted_.front();
  requests_.clear();
  posted_.clear();
  check_received(posted, status, error);
  posted.completion.sink->complete(posted.completion.id);
  return 1;
}

std::size_t MpiTransport::test_some() {
  int count = 0;
  const int error = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                 indices_.data(), statuses_.data());
  if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) check(error, "MPI_Testsome", rank_);
  if (count == MPI_UNDEFINED || count <= 0) return 0;
  finished_.clear();
  const auto done = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < done; ++i) {
    const Posted& posted = posted_[static_cast<std::size_t>(indices_[i])];
    check_received(posted, statuses_[i],
                   error == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : MPI_SUCCESS);
    finished_.push_back(posted.completion);
  }
  // Descending, so that the last element that fills a gap is never itself finished.
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (std::size_t i = 0; i < done; ++i) {
    const auto gap = static_cast<std::size_t>(indices_[i]);
    requests_[gap] = requests_.back();
    posted_[gap] = posted_.back();
    requests_.pop_back();
    posted_.pop_back();
  }
  for (std::size_t i = 0; i < done; ++i) {
    const Completion completion = finished_[i];
    completion.sink->complete(completion.id);
  }
  return done;
}

void MpiTransport::check_received(const Posted& posted, const MPI_Status& status, int error) const {
  if (!posted.receives) return check(error, "MPI_Isend", rank_);
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  if (error != MPI_SUCCESS && error_class != MPI_ERR_TRUNCATE) check(error, "MPI_Irecv", rank_);
  int received = 0;
  if (MPI_Get_count(&status, MPI_BYTE, &received) != MPI_SUCCESS) received = MPI_UNDEFINED;
  const bool exact = received >= 0 && static_cast<std::size_t>(received) == posted.bytes;
  if (error == MPI_SUCCESS && exact) return;
  const bool known = error == MPI_SUCCESS || (!exact && received > 0);
  fail(Errc::peer, "rank {} sent {} bytes to rank {}, which expected {} bytes, on lane {}",
       posted.peer, known ? std::to_string(received) : "more than " + std::to_string(posted.bytes),
       rank_, posted.bytes, posted.lane);
}

void MpiTransport::send(Rank to, std::span<const std::byte> data) {
  const int count = checked_count(to, 0, data.size());
  const int error = MPI_Send(data.data(), count, MPI_BYTE, to, 0, communicator_);
  if (error != MPI_SUCCESS) check(error, "MPI_Send", rank_);
}

void MpiTransport::recv(Rank from, std::span<std::byte> data) {
  const int count = checked_count(from, 0, data.size());
  MPI_Status status;
  const int error = MPI_Recv(data.data(), count, MPI_BYTE, from, 0, communicator_, &status);
  int received = MPI_UNDEFINED;
  if (error == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &received);
  if (received != count) check_received({{}, data.size(), from, 0, true}, status, error);
}

}  // namespace commtune::mpi
