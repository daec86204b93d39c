#include "microbench/off_node.hpp"

#include "collectives/runtime/program.hpp"
#include "collectives/schedule/layout.hpp"

namespace commtune {

std::uint64_t off_node_bytes(const Algorithm& algorithm, const Shape& shape, const Params& params,
                             std::uint64_t count, std::size_t element_bytes, const NodeMap& nodes) {
  if (nodes.nodes == 1) return 0;
  const auto node = [&nodes](Rank rank) { return nodes.node_of[static_cast<std::size_t>(rank)]; };
  const Schedule schedule = algorithm.generate(shape, params);
  const Layout layout(blocks_of_part(algorithm.collective, schedule.space, shape.size),
                      {.each = count}, 0, count);
  std::uint64_t elements = 0;
  for (const Step& step : schedule.steps) {
    if (step.kind == StepKind::send && node(step.peer) != node(shape.rank)) {
      elements += layout.elements(step.first, step.count);
    }
  }
  return elements * element_bytes;
}

}  // namespace commtune
