#pragma once
#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <memory>
#include <string>

#include "collectives/runtime/operation.hpp"

namespace commtune {

using GlooAlgorithm = gloo::AllreduceOptions::Algorithm;

/// Empty when Gloo has the collective for this type and operator; otherwise what it lacks.
/// `algorithm` is of allreduce, UNSPECIFIED its default.
std::string gloo_unsupported(const Call&, GlooAlgorithm algorithm);

/// Gloo's collectives block, so start() runs the whole of it and progress() has nothing left to do:
/// overlap with a Gloo operation does not exist. As with MPI, a broadcast works on one buffer: the
/// root's input.
std::unique_ptr<Operation> gloo_operation(std::shared_ptr<gloo::Context>, const Call&,
                                          GlooAlgorithm algorithm);

}  // namespace commtune
