#include "transports/local/remote.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance.hpp"
#include "jobs.hpp"
#include "transports/local/endpoint.hpp"
#include "transports/local/landing.hpp"

namespace commtune::test {
namespace {

/// Sets an environment variable as long as it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

TEST(RemoteReads, are_only_for_processes_and_can_be_forbidden) {
  const local::Board board(2);
  EXPECT_TRUE(local::Fabric(local::Fabric::Kind::processes, board, false).remote_reads());
  EXPECT_FALSE(local::Fabric(local::Fabric::Kind::threads, board, false).remote_reads());
  const Setting forbidden("COMMTUNE_REMOTE_READS", "0");
  EXPECT_FALSE(local::Fabric(local::Fabric::Kind::processes, board, false).remote_reads());
}

TEST(RemoteReads, without_them_every_promise_is_kept) {
  const Setting forbidden("COMMTUNE_REMOTE_READS", "0");
  for (const int ranks : {2, 3}) {
    const Outcome outcome = run_local("shm", ranks, [](Job& job) {
      for (const Check& check : message_checks()) check.run(job);
      for (const Check& check : order_checks()) check.run(job);
      for (const Check& check : view_checks()) check.run(job);
      return 0;
    });
    EXPECT_EQ(outcome.status, 0) << outcome.reason;
  }
}

TEST(RemoteReads, copy_from_a_process_and_report_what_fails) {
  std::array<std::byte, 100> from{}, into{};
  fill(from, 0, 1, 0);
  const int error = local::read_remote(getpid(), into.data(), from.data(), from.size());
  if (error == EPERM || error == ENOSYS) GTEST_SKIP() << "the system forbids process_vm_readv";
  EXPECT_EQ(error, 0);
  EXPECT_EQ(into, from);
  EXPECT_EQ(local::read_remote(getpid(), into.data(), nullptr, 8), EFAULT);
}

TEST(LandingBuffers, are_used_again_by_size) {
  local::LandingBuffers buffers;
  std::byte* const small = buffers.take(5'000);
  std::byte* const large = buffers.take(100'000);
  EXPECT_NE(small, large);
  buffers.give(small);
  buffers.give(large);
  EXPECT_EQ(buffers.take(99'999), large);
  EXPECT_EQ(buffers.take(8'192), small);
  EXPECT_NE(buffers.take(8'192), small);
}

}  // namespace
}  // namespace commtune::test
