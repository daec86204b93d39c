#pragma once
#include "dnn_proxy/importers/kineto_events.hpp"

namespace commtune {

/// Throws Error(usage), naming the event and both values, on the first record that contradicts its
/// group (size, membership of the recording rank, no ranks at all) or itself (splits, elements in
/// and out). Expects complete groups; one that is still empty has no ranks.
void check_records(const KinetoEvents&);

}  // namespace commtune
