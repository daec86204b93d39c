#pragma once
#include <string>

#include "transports/bootstrap.hpp"

namespace commtune {

/// Collective. The IPv4 address under which the other ranks of the job reach this host: loopback
/// when all are on one host, else that of the first network interface that is up, or of the one
/// named in COMMTUNE_INTERFACE. Throws Error(unavailable) when there is none.
std::string job_address(Bootstrap&);

}  // namespace commtune
