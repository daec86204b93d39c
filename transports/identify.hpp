#pragma once
#include <string>

#include "transports/job.hpp"

namespace commtune {

/// The library that the module `transport_<name>` gets when it is loaded. Loads it in a process of
/// its own, because libraries such as two MPIs do not go together in one. Throws
/// Error(unavailable) with the reason when it is not there or cannot be loaded.
LoadedLibrary identify_runtime(const std::string& name);

}  // namespace commtune
