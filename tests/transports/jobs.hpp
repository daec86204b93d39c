#pragma once
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "transports/job.hpp"

namespace commtune::test {

/// Runs `body` over a transport that starts its own ranks.
inline Outcome run_local(const std::string& transport, int ranks,
                         const std::function<int(Job&)>& body, double timeout_s = 60) {
  LaunchOptions options;
  options.transport = transport;
  options.ranks = ranks;
  options.timeout_s = timeout_s;
  return run_job(options, body);
}

/// Why `transport` cannot run here; empty when it can.
std::string transport_missing(std::string_view transport);

/// The same of the transport mpi with one MPI, "openmpi" or "mpich".
std::string mpi_missing(std::string_view mpi);

/// Runs `body` over mpi: starts this test program again, for the current test alone, under mpirun.
/// Does not return in the started ranks. `mpi` is LaunchOptions::mpi.
Outcome run_mpi(int ranks, const std::function<int(Job&)>& body, double timeout_s = 60,
                const std::string& mpi = {});

}  // namespace commtune::test
