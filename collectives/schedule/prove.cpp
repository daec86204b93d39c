#include "collectives/schedule/prove.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

std::optional<std::string> prove_case(const VerifyCase& task, AlgorithmProof& proof) {
  ++proof.cases;
  try {
    const auto schedules = generate_all(*task.algorithm, task.shape, task.params);
    for (const Schedule& schedule : schedules) {
      proof.steps += schedule.steps.size();
      proof.messages += static_cast<std::size_t>(
          std::count_if(schedule.steps.begin(), schedule.steps.end(),
                        [](const Step& step) { return step.kind == StepKind::send; }));
    }
    const auto violation =
        verify(task.algorithm->collective, task.shape.root, task.shape.in_place, schedules);
    if (!violation) return std::nullopt;
    return fmt::format("{}: {}", name(violation->kind), violation->detail);
  } catch (const Error& error) {
    return fmt::format("cannot be generated: {}", error.what());
  }
}

AlgorithmProof prove_algorithm(const Algorithm& algorithm, std::span<const int> sizes) {
  AlgorithmProof proof;
  proof.algorithm = &algorithm;
  const std::int64_t start = monotonic_ns();
  for (const int size : sizes) {
    for (const VerifyCase& task : verify_cases(algorithm, size)) {
      const auto failure = prove_case(task, proof);
      if (!failure) continue;
      proof.failure =
          fmt::format("{}/{} P={} root={}{}{}: {}", name(algorithm.collective), algorithm.name,
                      size, task.shape.root, task.shape.in_place ? " in place" : "",
                      describe(task.params, algorithm.tunables), *failure);
      break;
    }
    if (proof.failure) break;
  }
  proof.seconds = static_cast<double>(monotonic_ns() - start) * 1e-9;
  return proof;
}

}  // namespace

bool ProofReport::proved() const noexcept {
  return std::all_of(algorithms.begin(), algorithms.end(),
                     [](const AlgorithmProof& proof) { return proof.cases > 0 && !proof.failure; });
}

ProofReport prove(std::span<const Algorithm* const> algorithms, std::span<const int> sizes) {
  ProofReport report;
  for (const Algorithm* algorithm : algorithms) {
    report.algorithms.push_back(prove_algorithm(*algorithm, sizes));
  }
  return report;
}

}  // namespace commtune
