#pragma once
#include <memory>
#include <string>

#include "transports/bootstrap.hpp"
#include "transports/job_health.hpp"

namespace commtune {

/// How this process is one rank of a job that a launcher started: by an MPI library or by a
/// rendezvous. Its end leaves the job and may wait for the other ranks.
class Membership {
 public:
  virtual ~Membership() = default;
  virtual Bootstrap& bootstrap() = 0;
  virtual const JobHealth& health() const noexcept = 0;
  /// Collective. The numeric address at which the other ranks reach this one.
  virtual std::string address() = 0;
  /// Collective. What only the ranks of this job know, for servers that they start.
  virtual std::string secret() = 0;
  /// Takes the whole job down, as far as it can.
  [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace commtune
