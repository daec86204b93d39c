#include <gtest/gtest.h>

#include "core/error.hpp"
#include "transports/sim/platform_spec.hpp"

namespace commtune::test {
namespace {

using sim::parse_platform;
using sim::PlatformSpec;

TEST(Platform, is_read_from_its_words) {
  const PlatformSpec tree = parse_platform("fat-tree:16x8,100G,2us,taper=4");
  EXPECT_EQ(tree.kind, PlatformSpec::Kind::fat_tree);
  EXPECT_EQ(tree.shape, (std::vector<unsigned long>{16, 8}));
  EXPECT_EQ(tree.hosts(), 128U);
  EXPECT_EQ(tree.bandwidth, 12.5e9);
  EXPECT_EQ(tree.latency, 2e-6);
  EXPECT_EQ(tree.taper, 4U);
  EXPECT_EQ(parse_platform("torus:8x8x8,800M,5ns").hosts(), 512U);
  EXPECT_EQ(parse_platform("torus:8x8x8,800M,5ns").bandwidth, 1e8);
  EXPECT_EQ(parse_platform("cluster:7").hosts(), 7U);
  EXPECT_EQ(parse_platform("dragonfly:4x3x2,1T,1ms").hosts(), 24U);
}

TEST(Platform, that_cannot_be_is_refused_by_name) {
  for (const char* text :
       {"cluster", "cluster:", "cluster:0", "cluster:4x4", "cluster:4,100", "cluster:4,100G,1",
        "cluster:4,100G,1us,taper=2", "fat-tree:16", "fat-tree:4x4,100G,1us,taper=3", "torus:2x-2",
        "dragonfly:2x2", "ring:4", "cluster:4,0G", "cluster:4,nanG", "cluster:4,infG",
        "cluster:4,1e308T", "cluster:4,1G,1e-320ns", "torus:1048576x1048576x1048576x1048576",
        "no/such/file.xml"}) {
    try {
      parse_platform(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::usage);
      EXPECT_EQ(std::string(error.what()).rfind("--platform", 0), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace commtune::test
