#include "transports/binding.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/topology.hpp"
#include "jobs.hpp"

namespace commtune::test {
namespace {

TEST(Binding, is_read_from_words_and_lists) {
  EXPECT_EQ(parse_binding("core").kind, RankBinding::Kind::core);
  EXPECT_EQ(parse_binding("numa").kind, RankBinding::Kind::numa);
  EXPECT_EQ(parse_binding("none").kind, RankBinding::Kind::none);
  EXPECT_EQ(parse_binding("").kind, RankBinding::Kind::launcher);
  EXPECT_EQ(parse_binding("0,2,4-6").processors, (std::vector<int>{0, 2, 4, 5, 6}));
  EXPECT_EQ(parse_binding("0-65535").processors.size(), 65536U);
  for (const char* text : {"cores", "0,", "-1", "3-1", "1-", "0x1", ",", "99999999", "0-65535,7"}) {
    try {
      parse_binding(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("--bind", 0), 0U) << error.what();
    }
  }
}

/// The masks of the ranks of a job that is bound so.
Outcome run_bound(const std::string& bind, const std::vector<std::string>& masks) {
  LaunchOptions options;
  options.transport = "shm";
  options.ranks = 3;
  options.bind = bind;
  return run_job(options, [&](Job& job) {
    const std::string mask = current_placement().cpuset;
    const std::string& expected = masks[static_cast<std::size_t>(job.rank())];
    if (mask != expected) fail(Errc::wrong_result, "bound to {}, not {}", mask, expected);
    return 0;
  });
}

TEST(Binding, is_obtained) {
  const std::vector<int> allowed = discover_topology().allowed;
  const std::string all = current_placement().cpuset;
  const std::string first = std::to_string(allowed.front()), last = std::to_string(allowed.back());
  const Outcome listed = run_bound(first + "," + last + "," + first, {first, last, first});
  EXPECT_EQ(listed.status, 0) << listed.reason;
  const Outcome none = run_bound("none", {all, all, all});
  EXPECT_EQ(none.status, 0) << none.reason;
  const auto cores = processors_by(Place::core);
  EXPECT_FALSE(cores.empty());
  std::size_t processors = 0;
  for (const auto& core : cores) processors += core.size();
  EXPECT_EQ(processors, allowed.size());
}

TEST(Binding, that_is_too_short_or_not_possible_is_refused) {
  const Outcome shorter = run_bound("0", {});
  EXPECT_EQ(shorter.status, exit_usage);
  EXPECT_NE(shorter.reason.find("--bind: 1 processors are listed for 3 ranks"), std::string::npos);
  const Outcome missing = run_bound("60000,60000,60000", {});
  EXPECT_EQ(missing.status, exit_usage);
  EXPECT_NE(missing.reason.find("processor 60000 may not be used"), std::string::npos);
}

}  // namespace
}  // namespace commtune::test
