#pragma once
#include <memory>
#include <string>

#include "transports/job.hpp"
#include "transports/membership.hpp"

namespace commtune {

/// How the ranks of a job without an MPI find each other: rank 0 listens, all of them connect.
struct Rendezvous {
  Rank rank = 0, size = 1;
  std::string address;    ///< of rank 0: name or number, MASTER_ADDR
  int port = 0;           ///< MASTER_PORT
  std::string secret;     ///< COMMTUNE_SECRET, equal on all ranks; travels unencrypted
  double timeout_s = 60;  ///< for all ranks to arrive
  double silence_s = 10;  ///< a rank that does not answer for so long is lost
};

/// From MASTER_ADDR, MASTER_PORT and COMMTUNE_SECRET. Throws Error(usage) naming what is missing.
Rendezvous rendezvous_from_environment(const LauncherEnvironment&);

/// Collective. Rank 0 listens on `address` alone and turns away whoever does not know the secret
/// before it looks at anything else they sent. A rank whose process ends, stops or whose host is
/// lost fails the job: health() tells, and a wait in the bootstrap throws Error(peer) naming the
/// rank. Throws Error(peer) naming the ranks that are missing at the time limit.
std::unique_ptr<Membership> join_rendezvous(const Rendezvous&);

}  // namespace commtune
