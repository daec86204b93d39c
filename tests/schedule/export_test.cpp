#include "collectives/schedule/export.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

TEST(ToText, prints_the_ring_of_three_ranks) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
  EXPECT_EQ(to_text(ring.generate({0, 3, 0, false}, {}), 0),
            "rank 0 step 0: send to 1 from input blocks 0..0\n"
            "rank 0 step 1: recv from 2 into scratch[0] blocks 2..2\n"
            "rank 0 step 2: reduce input and scratch[0] into output blocks 2..2 after 1\n"
            "rank 0 step 3: send to 1 from output blocks 2..2 after 2\n"
            "rank 0 step 4: recv from 2 into scratch[1] blocks 1..1\n"
            "rank 0 step 5: reduce input and scratch[1] into output blocks 1..1 after 4\n"
            "rank 0 step 6: send to 1 from output blocks 1..1 after 5\n"
            "rank 0 step 7: recv from 2 into output blocks 0..0\n"
            "rank 0 step 8: send to 1 from output blocks 0..0 after 7\n"
            "rank 0 step 9: recv from 2 into output blocks 2..2 after 3\n");
}

TEST(ToText, prints_signals_and_several_predecessors) {
  const Algorithm& barrier = find_algorithm(Collective::barrier, "dissemination", "test");
  EXPECT_EQ(to_text(barrier.generate({1, 3, 0, false}, {}), 1),
            "rank 1 step 0: signal to 2\n"
            "rank 1 step 1: wait for signal from 0\n"
            "rank 1 step 2: signal to 0 after 0,1\n"
            "rank 1 step 3: wait for signal from 2 after 0,1\n");
}

TEST(ToGraphviz, draws_ranks_dependencies_and_messages) {
  const Algorithm& tree = find_algorithm(Collective::broadcast, "binomial", "test");
  EXPECT_EQ(to_graphviz(generate_all(tree, {0, 2, 0, true}, {}), "broadcast/binomial P=2"),
            "digraph schedule {\n"
            "  label=\"broadcast/binomial P=2\";\n"
            "  rankdir=TB;\n"
            "  node [shape=box];\n"
            "  subgraph cluster_0 {\n"
            "    label=\"rank 0\";\n"
            "    r0s0 [label=\"0: send to 1 from input blocks 0..0\"];\n"
            "  }\n"
            "  subgraph cluster_1 {\n"
            "    label=\"rank 1\";\n"
            "    r1s0 [label=\"0: recv from 0 into output blocks 0..0\"];\n"
            "  }\n"
            "  r0s0 -> r1s0 [style=dashed, constraint=false];\n"
            "}\n");
}

TEST(ToGraphviz, refuses_programs_whose_messages_do_not_pair) {
  const auto schedules =
      programs(Collective::barrier, 2, false, 0, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) builder.signal(1);
      });
  EXPECT_EQ(usage_error([&] { to_graphviz(schedules, "broken"); }),
            "export: rank 0 step 0: signal to 1: rank 1 has no matching recv");
}

}  // namespace
}  // namespace commtune
