#include "transports/mpi/check.hpp"

#include <string>

#include "core/error.hpp"

namespace commtune::mpi {

void check(int code, std::string_view call, Rank rank) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  text.resize(static_cast<std::size_t>(length));
  fail(Errc::peer, "rank {}: {} failed: {}", rank, call, text);
}

}  // namespace commtune::mpi
