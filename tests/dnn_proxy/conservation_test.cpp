#include "dnn_proxy/conservation.hpp"

#include "support.hpp"

namespace commtune {
namespace {

Workload two_operations() {
  Workload w;
  w.source = "t.json";
  w.world = 4;
  w.ranks = {0};
  w.groups = {{"world", {0, 1, 2, 3}}};
  std::vector<WorkloadOp> program(2);
  program[0].op = program[1].op = WorkloadOpKind::collective;
  program[0].kind = CommKind::broadcast;
  program[0].count = 10;
  program[1].kind = CommKind::reduce_scatter;
  program[1].count = 5;
  w.programs = {program};
  return w;
}

const TallyTable counted = {{{0, CommKind::broadcast}, {1, 40}},
                            {{0, CommKind::reduce_scatter}, {1, 80}}};

TEST(Conservation, holds_when_all_that_came_in_went_out) {
  const ConservationReport report = conserve(counted, two_operations());
  EXPECT_TRUE(report.conserved());
  EXPECT_EQ(report.rows.size(), 2U);
  test::expect_contains(report.text(), "reduce_scatter");
}

TEST(Conservation, fails_when_a_broadcast_vanishes) {
  Workload lossy = two_operations();
  lossy.programs[0].erase(lossy.programs[0].begin());
  const std::string message = test::error_of([&] { conserve(counted, lossy); }, Errc::wrong_result);
  test::expect_contains(message, "broadcast");
  test::expect_contains(message, "DIFFERS");
}

TEST(Conservation, fails_when_bytes_change_or_operations_appear) {
  Workload changed = two_operations();
  changed.programs[0][1].count = 6;
  test::error_of([&] { conserve(counted, changed); }, Errc::wrong_result);
  Workload more = two_operations();
  more.programs[0].push_back(more.programs[0][0]);
  more.programs[0].back().kind = CommKind::gather;
  test::expect_contains(test::error_of([&] { conserve(counted, more); }, Errc::wrong_result),
                        "gather");
}

}  // namespace
}  // namespace commtune
