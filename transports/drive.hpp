#pragma once
#include <functional>
#include <span>

#include "transports/bootstrap.hpp"

namespace commtune {

/// Collective. Bootstrap::allgather while another thread calls `drive` again and again, for
/// runtimes that move nothing unless they are asked. `drive` may throw; what it throws comes back.
void allgather_while_driving(Bootstrap&, std::span<const std::byte> mine, std::span<std::byte> all,
                             const std::function<void()>& drive);

}  // namespace commtune
