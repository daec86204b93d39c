#include <gtest/gtest.h>

#include "collectives/libraries/library.hpp"
#include "fixture.hpp"
#include "transports/module.hpp"

namespace commtune::test {
namespace {

class Gloo : public testing::Test {
 protected:
  void SetUp() override {
    if (find_module("library_gloo").empty()) {
      GTEST_SKIP() << "commtune_library_gloo.so is not in this build: Gloo was not found";
    }
  }
};

void run_call(Job& job, Library& library, const Call& call) {
  const std::string what = text_of(call, library.name(), job.size());
  const std::string refused = library.unsupported(call);
  require(refused.empty(), "{}: {}", what, refused);
  CallBuffers buffers(job.transport, call);
  buffers.call.counts = call.counts;
  const auto operation = library.prepare(buffers.call);
  for (const std::uint64_t seed : {1U, 2U}) run_and_check(job, buffers, *operation, what, seed);
}

TEST_F(Gloo, allreduce_is_right_with_each_of_its_algorithms) {
  for (const int ranks : {2, 3}) {
    expect_job("shm", ranks, [](Job& job) {
      for (const char* const name : {"gloo", "gloo/ring", "gloo/bcube"}) {
        const auto library = open_library(job, name);
        for (const std::uint64_t count : {0U, 1U, 1001U, 300'000U}) {
          for (const bool in_place : {false, true}) {
            run_call(job, *library, {.count = count, .in_place = in_place});
          }
        }
        run_call(job, *library, {.count = 10, .type = DataType::float16, .op = ReduceOp::max});
      }
    });
  }
}

TEST_F(Gloo, the_other_collectives_are_right_at_an_odd_number_of_ranks) {
  expect_job("threads", 3, [](Job& job) {
    const auto gloo = open_library(job, "gloo");
    for (const Collective collective :
         {Collective::reduce, Collective::allgather, Collective::alltoall, Collective::gather,
          Collective::scatter, Collective::barrier}) {
      run_call(job, *gloo, {.collective = collective, .count = 101, .root = 1});
    }
    // Out of place the root's result is its input.
    run_call(job, *gloo,
             {.collective = Collective::broadcast, .count = 101, .root = 1, .in_place = true});
    const std::vector<std::uint64_t> parts{2, 0, 5}, pairs{1, 2, 0, 3, 0, 4, 5, 0, 6};
    run_call(job, *gloo, {.collective = Collective::allgather, .counts = parts});
    run_call(job, *gloo, {.collective = Collective::alltoall, .counts = pairs});
  });
}

TEST_F(Gloo, says_what_it_lacks_by_name) {
  expect_job("threads", 1, [](Job& job) {
    const auto gloo = open_library(job, "gloo");
    const auto refusal_of = [&gloo](Call call) {
      call.count = 1;
      return gloo->unsupported(call);
    };
    EXPECT_EQ(refusal_of({.type = DataType::bfloat16}), "gloo cannot reduce bfloat16");
    EXPECT_EQ(refusal_of({.op = ReduceOp::avg}), "gloo has no reduction avg; use sum");
    EXPECT_EQ(refusal_of({.collective = Collective::scan}), "gloo has no scan");
    EXPECT_EQ(refusal_of({.collective = Collective::allgather, .type = DataType::bfloat16}), "");
    const auto bcube = open_library(job, "gloo/bcube");
    EXPECT_EQ(bcube->unsupported({.collective = Collective::broadcast}),
              "gloo has one algorithm of broadcast only; use gloo");
    EXPECT_EQ(bcube->observed_algorithm(Collective::allreduce), "bcube");
    EXPECT_EQ(gloo->identity().name, "gloo");
    EXPECT_NE(gloo->identity().path.find("libgloo"), std::string::npos);
  });
}

TEST(LibraryNames, a_name_that_is_no_library_is_refused) {
  EXPECT_TRUE(names_library("native"));
  EXPECT_TRUE(names_library("gloo/bcube"));
  EXPECT_FALSE(names_library("gloo/"));
  EXPECT_FALSE(names_library("ring"));
  expect_job("threads", 1, [](Job& job) {
    EXPECT_THROW(open_library(job, "gloo/tree"), Error);
    EXPECT_THROW(open_library(job, "native"), Error);
  });
}

}  // namespace
}  // namespace commtune::test
