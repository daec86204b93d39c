#include "core/topology.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/expect_error.hpp"

namespace commtune {
namespace {

/// Runs `body` in a child process, so that its environment and binding stay there; returns whether
/// every expectation held.
bool passes_in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void use_synthetic(const char* description) { setenv("HWLOC_SYNTHETIC", description, 1); }

TEST(Topology, describes_this_host) {
  const Topology topology = discover_topology();
  EXPECT_FALSE(topology.host.empty());
  EXPECT_GE(topology.processors, 1);
  EXPECT_GE(topology.allowed_processors, 1);
  EXPECT_EQ(topology.allowed.size(), static_cast<std::size_t>(topology.allowed_processors));
  EXPECT_GT(topology.memory_bytes, 0U);
  EXPECT_TRUE(std::is_sorted(topology.allowed.begin(), topology.allowed.end()));
}

TEST(Topology, follows_a_synthetic_machine) {
  EXPECT_TRUE(passes_in_child([] {
    use_synthetic("pack:2 [numa] l3:2 l2:4 core:1 pu:2");
    const Topology topology = discover_topology();
    EXPECT_EQ(topology.packages, 2);
    EXPECT_EQ(topology.numa_nodes, 2);
    EXPECT_EQ(topology.cores, 16);
    EXPECT_EQ(topology.processors, 32);
    EXPECT_EQ(topology.allowed_processors, 32);
    EXPECT_EQ(topology.allowed.front(), 0);
    EXPECT_EQ(topology.allowed.back(), 31);
    EXPECT_GT(topology.l2_bytes, 0U);
    EXPECT_GT(topology.l3_bytes, 0U);
    EXPECT_EQ(topology.summary, "2 packages, 2 NUMA nodes, 16 cores, 32 processors");
    const Placement placement = current_placement();
    EXPECT_EQ(placement.cpuset, "0-31");
    EXPECT_EQ(placement.numa, -1);
  }));
}

TEST(Topology, counts_in_the_singular) {
  EXPECT_TRUE(passes_in_child([] {
    use_synthetic("pack:1 core:1 pu:1");
    EXPECT_EQ(discover_topology().summary, "1 package, 1 NUMA node, 1 core, 1 processor");
    EXPECT_EQ(current_placement().numa, 0);
    EXPECT_EQ(current_placement().cpuset, "0");
  }));
}

TEST(Topology, refuses_a_machine_file_that_cannot_be_read) {
  EXPECT_TRUE(passes_in_child([] {
    setenv("HWLOC_XMLFILE", "/no/such/machine.xml", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    EXPECT_TRUE(holds(error_of(Errc::system, [] { discover_topology(); }), "HWLOC_XMLFILE"));
  }));
}

TEST(Binding, narrows_the_mask_to_one_processor) {
  const Topology topology = discover_topology();
  const int last = topology.allowed.back();
  EXPECT_TRUE(passes_in_child([&] {
    EXPECT_TRUE(bind_to_processor(last));
    EXPECT_EQ(sched_getcpu(), last);
    EXPECT_EQ(current_placement().cpuset, std::to_string(last));
    const Topology bound = discover_topology();
    EXPECT_EQ(bound.allowed_processors, 1);
    EXPECT_EQ(bound.allowed, std::vector<int>{last});
    EXPECT_EQ(bound.processors, topology.processors);
    EXPECT_TRUE(oversubscribed(2, bound));
  }));
}

TEST(Binding, to_a_processor_that_does_not_exist_is_refused) {
  for (const int index : {-1, 1 << 19, 1 << 30}) EXPECT_FALSE(bind_to_processor(index)) << index;
}

TEST(Oversubscription, starts_one_rank_above_the_allowed_processors) {
  Topology topology;
  topology.allowed_processors = 2;
  EXPECT_FALSE(oversubscribed(1, topology));
  EXPECT_FALSE(oversubscribed(2, topology));
  EXPECT_TRUE(oversubscribed(3, topology));
}

}  // namespace
}  // namespace commtune
