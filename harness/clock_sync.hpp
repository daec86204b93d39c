#pragma once
#include <string_view>

#include "harness/measure.hpp"

namespace commtune {

/// synchronise_clocks() with a given clock identity: ranks with equal identities share one clock.
ClockMap synchronise_clocks(Job&, std::string_view identity);

}  // namespace commtune
