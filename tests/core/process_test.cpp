#include "core/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "tests/core/expect_error.hpp"

namespace commtune {
namespace {

ProcessResult run_shell(std::string script, double timeout_s = 0) {
  ProcessOptions options;
  options.argv = {"sh", "-c", std::move(script)};
  options.timeout_s = timeout_s;
  return run_process(options);
}

/// A pipe whose write end every child inherits: its end of file tells that all of them are gone.
class LifeSign {
 public:
  LifeSign() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    read_end_ = Descriptor(ends[0]);
    write_end_ = Descriptor(ends[1]);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  }
  void keep_read_end_only() { write_end_.close(); }
  bool all_gone() {
    keep_read_end_only();
    constexpr int limit_ms = 20'000;
    pollfd event{read_end_.fd(), POLLIN, 0};
    char byte = 0;
    return poll(&event, 1, limit_ms) == 1 && read(read_end_.fd(), &byte, 1) == 0;
  }

 private:
  Descriptor read_end_, write_end_;
};

TEST(Process, captures_both_streams_and_the_status) {
  const auto result = run_shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(Process, reports_a_signal_as_128_plus_its_number) {
  EXPECT_EQ(run_shell("kill -s KILL $$").status, 128 + SIGKILL);
  EXPECT_EQ(run_shell("kill -s TERM $$").status, 128 + SIGTERM);
}

TEST(Process, takes_more_output_than_pipes_hold_from_both_streams) {
  const auto result =
      run_shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; printf end");
  EXPECT_EQ(result.out.size(), 1'000'003U);
  EXPECT_EQ(result.out.substr(1'000'000), "end");
  EXPECT_EQ(result.err.size(), 1'000'000U);
}

TEST(Process, kills_the_whole_group_at_the_time_limit) {
  LifeSign life;
  const auto result = run_shell("echo started; sleep 100 & wait", 0.2);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.status, 128 + SIGKILL);
  EXPECT_EQ(result.out, "started\n");
  EXPECT_TRUE(life.all_gone());
}

TEST(Process, kills_what_a_finished_child_left_behind) {
  LifeSign life;
  const auto result = run_shell("sleep 100 & echo done; exit 3");
  EXPECT_EQ(result.status, 3);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.out, "done\n");
  EXPECT_TRUE(life.all_gone());
}

TEST(Process, group_dies_when_this_process_is_killed) {
  LifeSign life;
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const Descriptor ready_read(ready[0]);
  Descriptor ready_write(ready[1]);
  const pid_t runner = fork();
  if (runner == 0) {
    run_shell("echo x >&" + std::to_string(ready[1]) + "; sleep 100 & wait");
    _exit(0);
  }
  ready_write.close();
  char byte = 0;
  ASSERT_EQ(read(ready_read.fd(), &byte, 1), 1);
  kill(runner, SIGKILL);
  ASSERT_EQ(waitpid(runner, nullptr, 0), runner);
  EXPECT_TRUE(life.all_gone());
}

TEST(Process, leaves_no_child_to_reap) {
  run_shell("exit 0");
  run_shell("sleep 100 & wait", 0.05);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Process, runs_in_its_own_group_with_an_empty_stdin) {
  const auto result =
      run_shell("ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat; cat");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(std::atoi(result.out.c_str()), getpgrp());
}

TEST(Process, changes_the_environment_of_the_child_only) {
  setenv("COMMTUNE_TEST_KEEP", "keep", 1);
  setenv("COMMTUNE_TEST_DROP", "drop", 1);
  setenv("COMMTUNE_TEST_SET", "old", 1);
  ProcessOptions options;
  options.argv = {"sh", "-c",
                  "echo $COMMTUNE_TEST_KEEP,${COMMTUNE_TEST_DROP-gone},$COMMTUNE_TEST_SET"};
  options.set_env = {{"COMMTUNE_TEST_SET", "a=b c"}};
  options.unset_env = {"COMMTUNE_TEST_DROP"};
  EXPECT_EQ(run_process(options).out, "keep,gone,a=b c\n");
  EXPECT_STREQ(getenv("COMMTUNE_TEST_SET"), "old");
  options.set_env = {{"A=B", "x"}};
  EXPECT_TRUE(holds(error_of(Errc::usage, [&] { run_process(options); }), "A=B"));
}

TEST(Process, without_capture_collects_nothing) {
  ProcessOptions options;
  options.argv = {"sh", "-c", "exit 5"};
  options.capture = false;
  const auto result = run_process(options);
  EXPECT_EQ(result.status, 5);
  EXPECT_TRUE(result.out.empty());
}

TEST(Process, that_does_not_exist_is_unavailable_by_name) {
  for (const char* program : {"no-such-program-here", "/no/such/program", "/tmp", ""}) {
    ProcessOptions options;
    options.argv = {program};
    EXPECT_TRUE(holds(error_of(Errc::unavailable, [&] { run_process(options); }),
                      fmt::format("\"{}\"", program)));
  }
  error_of(Errc::usage, [] { run_process({}); });
}

TEST(Process, refuses_an_impossible_time_limit) {
  error_of(Errc::usage, [] { run_shell("exit 0", -1); });
  error_of(Errc::usage, [] { run_shell("exit 0", std::numeric_limits<double>::quiet_NaN()); });
}

TEST(Program, is_found_in_path_as_an_absolute_path) {
  const std::string shell = find_program("sh");
  ASSERT_FALSE(shell.empty());
  EXPECT_EQ(shell.front(), '/');
  EXPECT_EQ(find_program(shell), shell);
  EXPECT_EQ(find_program("no-such-program-here"), "");
  EXPECT_EQ(find_program(""), "");
}

TEST(Program, knows_its_own_path) {
  EXPECT_EQ(access(self_path().c_str(), X_OK), 0);
  EXPECT_TRUE(holds(self_path(), "test_core"));
}

}  // namespace
}  // namespace commtune
