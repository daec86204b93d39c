#pragma once
#include <gloo/context.h>
#include <memory>

#include "transports/job.hpp"

namespace commtune {

/// Collective: a Gloo context of all ranks of the job over TCP: on the loopback address when all
/// ranks are on one host, otherwise on the address that each host's name resolves to. One
/// connection for every pair of ranks. Throws Error(peer).
std::shared_ptr<gloo::Context> connect_gloo(const Job&);

}  // namespace commtune
