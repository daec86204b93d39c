#include "transports/rendezvous/rendezvous.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "transports/rendezvous/wire.hpp"

namespace commtune::test {
namespace {

constexpr int ok = 0, wrong = 1, told = 42;

int free_port() {
  const Descriptor file(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  bind(file.fd(), reinterpret_cast<const sockaddr*>(&address), length);
  getsockname(file.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

/// Processes that meet. What `rank` returns is its exit status.
class RendezvousJob {
 public:
  using Rank = std::function<int(const Rendezvous&)>;
  explicit RendezvousJob(int size) {
    about.size = size;
    about.address = "127.0.0.1";
    about.port = free_port();
    about.secret = "a secret of the tests";
    about.timeout_s = 30;
  }
  pid_t start(int rank, const Rank& work) {
    Rendezvous mine = about;
    mine.rank = rank;
    const pid_t pid = fork();
    if (pid == 0) _exit(work(mine));
    return pid;
  }
  static int status_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void expect_all(int status, const Rank& work) {
    std::vector<pid_t> pids;
    for (int rank = 0; rank < about.size; ++rank) pids.push_back(start(rank, work));
    for (const pid_t pid : pids) EXPECT_EQ(status_of(pid), status);
  }
  Rendezvous about;
};

/// `told` when joining fails with a message that holds `text`.
RendezvousJob::Rank fails_with(const std::string& text) {
  return [text](const Rendezvous& about) {
    try {
      join_rendezvous(about);
    } catch (const Error& error) {
      if (std::string(error.what()).find(text) != std::string::npos) return told;
      std::fprintf(stderr, "%s\n", error.what());
    }
    return wrong;
  };
}

int gather(const Rendezvous& about) {
  const auto member = join_rendezvous(about);
  Bootstrap& bootstrap = member->bootstrap();
  if (bootstrap.rank() != about.rank || bootstrap.size() != about.size) return wrong;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20U}) {
    const std::vector<std::byte> mine(bytes, std::byte(about.rank + 1));
    std::vector<std::byte> all(bytes * static_cast<std::size_t>(about.size));
    bootstrap.allgather(mine, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != std::byte(i / bytes + 1)) return wrong;
    }
    bootstrap.barrier();
  }
  const auto secrets = allgather_string(bootstrap, member->secret());
  for (const std::string& each : secrets) {
    if (each != secrets[0] || each.size() != 32 || each == about.secret) return wrong;
  }
  return member->health().failed() || member->address() != "127.0.0.1" ? wrong : ok;
}

TEST(Rendezvous, gathers_from_any_number_of_ranks) {
  for (const int size : {1, 3, 5}) RendezvousJob(size).expect_all(ok, gather);
}

TEST(Rendezvous, waits_for_ranks_that_come_late) {
  RendezvousJob job(3);
  std::vector<pid_t> pids{job.start(2, gather), job.start(1, gather)};
  pids.push_back(job.start(0, gather));
  for (const pid_t pid : pids) EXPECT_EQ(RendezvousJob::status_of(pid), ok);
}

TEST(Rendezvous, turns_away_whoever_has_another_secret_or_size) {
  RendezvousJob job(2), other = job, larger = job;
  const pid_t hub = job.start(0, gather);
  other.about.secret = "another secret of the tests";
  EXPECT_EQ(RendezvousJob::status_of(other.start(1, fails_with("COMMTUNE_SECRET differs"))), told);
  larger.about.size = 3;
  EXPECT_EQ(RendezvousJob::status_of(larger.start(1, fails_with("one of 3 ranks"))), told);
  const pid_t member = job.start(1, gather);
  EXPECT_EQ(RendezvousJob::status_of(member), ok);
  EXPECT_EQ(RendezvousJob::status_of(hub), ok);
}

TEST(Rendezvous, is_not_ended_by_garbage) {
  RendezvousJob job(2);
  const pid_t hub = job.start(0, gather);
  Descriptor stranger;
  while (!stranger) stranger = rendezvous::connect_to(job.about.address, job.about.port);
  const std::string garbage(4096, 'x');
  send(stranger.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  const Descriptor silent = rendezvous::connect_to(job.about.address, job.about.port);
  EXPECT_EQ(RendezvousJob::status_of(job.start(1, gather)), ok);
  EXPECT_EQ(RendezvousJob::status_of(hub), ok);
}

TEST(Rendezvous, names_the_ranks_that_did_not_come) {
  RendezvousJob job(5);
  job.about.timeout_s = 1;
  const auto work = fails_with("2 of 5 ranks did not come within 1 s: 1, 3");
  std::vector<pid_t> pids;
  for (const int rank : {0, 2, 4}) pids.push_back(job.start(rank, work));
  for (const pid_t pid : pids) EXPECT_EQ(RendezvousJob::status_of(pid), told);
}

/// What ranks other than 1 see while rank 1 is lost in the way that `lose` does it.
void expect_loss_of_rank_1(double silence_s, const std::string& how, void (*lose)()) {
  RendezvousJob job(3);
  job.about.silence_s = silence_s;
  const auto work = [&](const Rendezvous& about) {
    const auto member = join_rendezvous(about);
    member->bootstrap().barrier();
    if (about.rank == 1) lose();
    try {
      member->bootstrap().barrier();
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool named = text.find("rank 1 failed: " + how) != std::string::npos;
      return error.code() == Errc::peer && named && member->health().failed() ? told : wrong;
    }
    return wrong;
  };
  std::vector<pid_t> pids;
  for (int rank = 0; rank < 3; ++rank) pids.push_back(job.start(rank, work));
  EXPECT_EQ(RendezvousJob::status_of(pids[0]), told);
  EXPECT_EQ(RendezvousJob::status_of(pids[2]), told);
  kill(pids[1], SIGKILL);
  EXPECT_EQ(RendezvousJob::status_of(pids[1]), 128 + SIGKILL);
}

TEST(Rendezvous, notices_a_rank_that_was_killed) {
  expect_loss_of_rank_1(10, "its process ended", [] { raise(SIGKILL); });
}

TEST(Rendezvous, notices_a_rank_that_was_halted) {
  expect_loss_of_rank_1(1, "it has not answered for 1 s", [] { raise(SIGSTOP); });
}

TEST(Rendezvous, tells_the_others_when_a_rank_aborts) {
  RendezvousJob job(3);
  const auto work = [](const Rendezvous& about) {
    const auto member = join_rendezvous(about);
    if (about.rank == 2) member->abort(7);
    try {
      member->bootstrap().barrier();
    } catch (const Error& error) {
      return std::string(error.what()) == "rank 2 failed: it ended with status 7" ? told : wrong;
    }
    return wrong;
  };
  std::vector<pid_t> pids;
  for (int rank = 0; rank < 3; ++rank) pids.push_back(job.start(rank, work));
  EXPECT_EQ(RendezvousJob::status_of(pids[0]), told);
  EXPECT_EQ(RendezvousJob::status_of(pids[1]), told);
  EXPECT_EQ(RendezvousJob::status_of(pids[2]), 7);
}

TEST(RendezvousEnvironment, is_refused_by_name_when_incomplete) {
  const LauncherEnvironment launcher{"torchrun", 0, 2, true};
  const auto refused = [&](const char* port, const char* secret, const std::string& name) {
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", port, 1);
    setenv("COMMTUNE_SECRET", secret, 1);
    try {
      rendezvous_from_environment(launcher);
      ADD_FAILURE() << "accepted " << port << ' ' << secret;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::usage);
      EXPECT_EQ(std::string(error.what()).rfind(name, 0), 0U) << error.what();
    }
    for (const char* each : {"MASTER_ADDR", "MASTER_PORT", "COMMTUNE_SECRET"}) unsetenv(each);
  };
  refused("", "0123456789abcdef", "MASTER_PORT");
  refused("70000", "0123456789abcdef", "MASTER_PORT");
  refused("29500x", "0123456789abcdef", "MASTER_PORT");
  refused("29500", "short", "COMMTUNE_SECRET");
}

TEST(RendezvousFrames, that_are_none_are_refused) {
  rendezvous::FrameReader reader;
  const std::vector<std::byte> garbage(64, std::byte{7});
  reader.add(garbage);
  rendezvous::Frame frame;
  EXPECT_THROW(reader.take(frame), Error);
}

TEST(RendezvousFrames, arrive_whole_in_any_pieces) {
  const std::string text = "a contribution";
  const auto bytes = rendezvous::encode(rendezvous::FrameType::failed, 3, text);
  rendezvous::FrameReader reader;
  rendezvous::Frame frame;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_FALSE(reader.take(frame));
      reader.add({&bytes[i], 1});
    }
    ASSERT_TRUE(reader.take(frame));
    EXPECT_EQ(frame.text(), text);
    EXPECT_EQ(frame.rank, 3);
  }
}

TEST(RendezvousFrames, that_were_taken_do_not_stay_in_memory) {
  const auto frame = rendezvous::encode(rendezvous::FrameType::part, 0, std::string(100, 'x'));
  const std::size_t half = frame.size() / 2;
  rendezvous::FrameReader reader;
  rendezvous::Frame taken;
  reader.add(std::span(frame).first(half));
  for (int i = 0; i < 1000; ++i) {  // never empty: half a frame always waits for the rest
    reader.add(std::span(frame).subspan(half));
    reader.add(std::span(frame).first(half));
    ASSERT_TRUE(reader.take(taken));
    EXPECT_FALSE(reader.take(taken));
    EXPECT_LT(reader.held(), 3 * frame.size());
  }
}

}  // namespace
}  // namespace commtune::test
