#include "collectives/schedule/prove.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/schedule/counterexample.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

std::string title_of(const VerifyCase& task) {
  const Algorithm& algorithm = *task.algorithm;
  return fmt::format("{}/{} P={} root={}{}{}", name(algorithm.collective), algorithm.name,
                     task.shape.size, task.shape.root, task.shape.in_place ? " in place" : "",
                     describe(task.params, algorithm.tunables));
}

void prove_case(const VerifyCase& task, AlgorithmProof& proof) {
  const Collective collective = task.algorithm->collective;
  const Shape& shape = task.shape;
  ++proof.cases;
  const auto schedules = generate_all(*task.algorithm, shape, task.params);
  for (const Schedule& schedule : schedules) {
    proof.steps += schedule.steps.size();
    proof.messages += static_cast<std::size_t>(std::count_if(
        schedule.steps.begin(), schedule.steps.end(),
        [](const Step& step) { return step.kind == StepKind::send && !step.joined; }));
  }
  Facts facts;
  const auto violation = verify(collective, shape.root, shape.in_place, schedules, &facts);
  proof.facts.keeps_order = proof.facts.keeps_order && facts.keeps_order;
  if (!violation) return;
  proof.failure =
      fmt::format("{}: {}: {}", title_of(task), name(violation->kind), violation->detail);
  proof.counterexample =
      counterexample(title_of(task), collective, shape.root, shape.in_place, schedules, *violation);
}

AlgorithmProof prove_algorithm(const Algorithm& algorithm, std::span<const int> sizes) {
  AlgorithmProof proof;
  proof.algorithm = &algorithm;
  const std::int64_t start = monotonic_ns();
  for (const int size : sizes) {
    for (const VerifyCase& task : verify_cases(algorithm, size)) {
      try {
        prove_case(task, proof);
      } catch (const Error& error) {
        if (error.code() == Errc::unavailable) proof.untried = error.what();
        if (error.code() != Errc::unavailable) {
          proof.failure = fmt::format("{}: cannot be generated: {}", title_of(task), error.what());
        }
      }
      if (proof.failure || proof.untried) break;
    }
    if (proof.failure || proof.untried) break;
  }
  proof.seconds = static_cast<double>(monotonic_ns() - start) * 1e-9;
  return proof;
}

}  // namespace

bool ProofReport::proved() const noexcept {
  return std::all_of(algorithms.begin(), algorithms.end(), [](const AlgorithmProof& proof) {
    return proof.cases > 0 && !proof.failure && !proof.untried;
  });
}

ProofReport prove(std::span<const Algorithm* const> algorithms, std::span<const int> sizes) {
  ProofReport report;
  for (const Algorithm* algorithm : algorithms) {
    report.algorithms.push_back(prove_algorithm(*algorithm, sizes));
  }
  return report;
}

}  // namespace commtune
