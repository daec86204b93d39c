#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/record.hpp"
#include "program.hpp"

namespace commtune {
namespace {

ProcessResult bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  arguments.insert(arguments.end(), {"--sizes", "1000", "--iterations", "2", "--warmup", "1"});
  return commtune_program(arguments);
}

TEST(AlgorithmOption, parameters_follow_the_name_and_stand_in_the_row) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run =
      bench({"allreduce", "-n", "4", "--algorithm",
             "ring:segments=4,ring,hierarchical:group=2:intra=chain+linear", "-o", file});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = read_result(file).rows;
  ASSERT_EQ(rows.size(), 3U);
  for (const Row& row : rows) EXPECT_EQ(row.status, "ok") << row.reason;
  EXPECT_EQ(rows[0].algorithm_asked, "ring:segments=4");
  EXPECT_EQ(rows[0].algorithm_used, "ring");
  EXPECT_EQ(rows[0].params.at("segments"), 4);
  EXPECT_EQ(rows[1].params.at("segments"), 1);
  EXPECT_EQ(rows[2].params.at("group"), 2);
  EXPECT_EQ(rows[2].params.at("intra"), "chain+linear");
}

TEST(AlgorithmOption, wrong_parameters_end_with_2_and_one_message) {
  const std::pair<const char*, const char*> wrong[] = {
      {"ring:radix=2",
       "--algorithm: allreduce/ring has no parameter 'radix'; it reads: segments,channels"},
      {"rabenseifner:segments=2",
       "--algorithm: allreduce/rabenseifner has no parameter 'segments'; it reads: none"},
      {"ring:segments=0", "--algorithm: segments=0 is out of range; use 1 to 1048576"},
      {"ring:segments=1048577", "--algorithm: segments=1048577 is out of range; use 1 to 1048576"},
      {"ring:segments",
       "--algorithm 'ring:segments': 'segments' is not of the form "
       "parameter=value"},
      {"ring:segments=",
       "--algorithm 'ring:segments=': 'segments=' is not of the form "
       "parameter=value"},
      {"ring:", "--algorithm 'ring:': '' is not of the form parameter=value"},
      {":segments=2", "--algorithm ':segments=2': the algorithm's name is missing"},
      {"hierarchical:intra=unknown", "--algorithm: there is no algorithm 'unknown'"},
      {"hierarchical:intra=linear+", "--algorithm: there is no algorithm ''"}};
  for (const auto& [algorithm, message] : wrong) {
    const ProcessResult run = bench({"allreduce", "--algorithm", algorithm});
    EXPECT_EQ(run.status, exit_usage) << algorithm;
    EXPECT_EQ(run.out, "") << algorithm;
    EXPECT_EQ(run.err, std::string("commtune: ") + message + "\n") << algorithm;
  }
}

TEST(AlgorithmOption, a_number_of_ranks_that_is_refused_is_a_skipped_row) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run =
      bench({"allgather", "-n", "3", "--algorithm", "neighbor_exchange,ring", "-o", file});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const auto rows = read_result(file).rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].status, "skipped");
  EXPECT_EQ(rows[0].reason, "3 ranks do not form pairs");
  EXPECT_EQ(rows[1].status, "ok");
}

TEST(BuffersOption, a_row_for_each_kind_and_the_row_says_which) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const auto kinds = [&file](const std::string& asked) {
    const ProcessResult run = bench({"allreduce", "--buffers", asked, "-o", file});
    EXPECT_EQ(run.status, 0) << run.err;
    std::vector<std::string> found;
    for (const Row& row : read_result(file).rows) {
      EXPECT_EQ(row.status, "ok") << row.reason;
      EXPECT_EQ(row.check_wrong, 0U);
      found.push_back(row.params.at("buffers").get<std::string>());
    }
    return found;
  };
  const ProcessResult both =
      bench({"allreduce", "--algorithm", "ring", "--buffers", "registered,private"});
  EXPECT_NE(both.out.find(" ring  "), std::string::npos) << both.out;
  EXPECT_NE(both.out.find(" ring, private  "), std::string::npos) << both.out;
  EXPECT_EQ(kinds("registered"), (std::vector<std::string>{"registered"}));
  EXPECT_EQ(kinds("private"), (std::vector<std::string>{"private"}));
  EXPECT_EQ(kinds("registered,private"), (std::vector<std::string>{"registered", "private"}));
}

TEST(BuffersOption, other_words_end_with_2) {
  for (const char* word : {"", "malloc", "Private", "registered,", "registered,,private", "hot"}) {
    const ProcessResult run = bench({"allreduce", "--buffers", word});
    EXPECT_EQ(run.status, exit_usage) << word;
    EXPECT_EQ(run.out, "") << word;
    EXPECT_NE(run.err.find("unknown kind; valid: registered, private, registered,private"),
              std::string::npos)
        << run.err;
  }
}

TEST(Tune, over_shm_writes_a_table_that_bench_reads) {
  const TemporaryFolder folder;
  const std::string table = folder.file("t.json"), file = folder.file("r.json");
  const ProcessResult run =
      commtune_program({"tune", "scan", "--transport", "shm", "-n", "2", "--sizes", "8,1K",
                        "--rounds", "1", "--time-limit", "0.01", "--force", "-o", table});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(commtune_program({"table", "show", table}).status, 0);
  const ProcessResult used = bench({"scan", "--table", table, "-o", file});
  EXPECT_EQ(used.status, 0) << used.err;
  EXPECT_EQ(read_result(file).rows.at(0).status, "ok");
}

TEST(Tune, a_collective_that_mpi_lacks_is_refused_by_name) {
  const ProcessResult run = commtune_program({"tune", "sendrecv", "--transport", "mpi"});
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  EXPECT_EQ(run.status, exit_usage);
  EXPECT_EQ(run.err,
            "commtune: COLLECTIVE sendrecv: MPI has no such collective, so there is nothing to "
            "tune over mpi; use --transport shm or threads\n");
}

TEST(ServersOption, is_refused_by_name_where_no_rank_is_left_to_work) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"ps", "-n", "1"}, "-n/--ranks 1: ps needs 2 ranks"},
      {{"ps", "-n", "2", "--servers", "2"},
       "-n/--ranks 2: ps with --servers 2 needs 3 ranks, so that one is a worker"},
      {{"ps", "--servers", "0"}, "--servers '0': must be 1 to 1048575"},
      {{"ps", "--servers", "1048576"}, "--servers '1048576': must be 1 to 1048575"}};
  for (const auto& [arguments, message] : wrong) {
    const ProcessResult run = bench(arguments);
    EXPECT_EQ(run.status, exit_usage) << message;
    EXPECT_EQ(run.out, "") << message;
    EXPECT_EQ(run.err, std::string("commtune: ") + message + "\n");
  }
}

TEST(ServersOption, and_the_mode_stand_in_the_row) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run =
      bench({"ps", "-n", "3", "--servers", "2", "--asynchronous", "--dtype", "int32", "-o", file});
  ASSERT_EQ(run.status, exit_ok) << run.err;
  EXPECT_EQ(run.err, "");
  const auto rows = read_result(file).rows;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].params.at("servers"), 2);
  EXPECT_EQ(rows[0].params.at("workers"), 1);
  EXPECT_EQ(rows[0].params.at("mode"), "asynchronous");
  EXPECT_EQ(rows[0].dtype, "int32");
}

TEST(ServersOption, without_effect_is_said) {
  const ProcessResult run = bench({"allreduce", "--servers", "1", "--asynchronous"});
  EXPECT_EQ(run.status, exit_ok);
  EXPECT_NE(run.err.find("--servers has no effect on allreduce"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("--asynchronous has no effect on allreduce"), std::string::npos);
  const ProcessResult ps = bench({"ps", "--op", "max"});
  EXPECT_EQ(ps.status, exit_ok);
  EXPECT_NE(ps.err.find("--op has no effect on ps"), std::string::npos) << ps.err;
}

}  // namespace
}  // namespace commtune
