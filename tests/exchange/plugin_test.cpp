#include "collectives/exchange/plugin.hpp"

#include <algorithm>
#include <fstream>

#include "collectives/schedule/prove.hpp"
#include "support.hpp"

namespace commtune::test {
namespace {

/// Builds a shared object from a source file with `command`; fails the test when that fails.
std::filesystem::path build(const TemporaryFolder& folder, const std::string& compiler,
                            const std::filesystem::path& source, const std::string& name) {
  const auto file = folder / (name + ".so");
  const std::string command =
      fmt::format("{} -fPIC -shared '{}' -o '{}'", compiler, source.string(), file.string());
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return file;
}
std::filesystem::path build_c(const TemporaryFolder& folder, const std::string& name,
                              const std::string& text) {
  const auto source = folder / (name + ".c");
  std::ofstream(source) << text;
  return build(folder, COMMTUNE_C_COMPILER, source, name);
}

TEST(Plugin, the_example_adds_an_algorithm_that_is_proved) {
  const TemporaryFolder folder;
  const auto file =
      build(folder,
            fmt::format("{} -std=c++20 -O1 -I '{}'", COMMTUNE_CXX_COMPILER, COMMTUNE_SOURCE_FOLDER),
            COMMTUNE_EXAMPLE, "my_allreduce");
  const std::size_t before = algorithms().size();
  const auto earlier = algorithms();
  const auto added = load_plugin(file, "--plugin");
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(algorithms().size(), before + 1);
  EXPECT_EQ(earlier.size(), before);
  EXPECT_EQ(&find_algorithm(Collective::allreduce, "star", "test"), added.front());
  EXPECT_TRUE(std::is_sorted(algorithms().begin(), algorithms().end(), [](auto* a, auto* b) {
    return std::pair(a->collective, a->name) < std::pair(b->collective, b->name);
  }));
  const int sizes[] = {1, 2, 3, 5, 8};
  const auto report = prove(added, sizes);
  EXPECT_TRUE(report.proved()) << report.algorithms.front().failure.value_or("");
  EXPECT_EQ(error_of([&] { load_plugin(file, "--plugin x"); }, Errc::usage),
            "--plugin x: there is an algorithm allreduce/star already; give it another name");
}

TEST(Plugin, a_file_that_is_not_there) {
  EXPECT_EQ(error_of([] { load_plugin("no/such.so", "--plugin no/such.so"); }, Errc::unavailable),
            "--plugin no/such.so: no such file");
}

TEST(Plugin, a_file_that_is_no_shared_object) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text.so") << "not a shared object";
  expect_contains(error_of([&] { load_plugin(folder / "text.so", "f"); }, Errc::unavailable),
                  "f: cannot be loaded: ");
}

TEST(Plugin, a_shared_object_without_the_entry_point) {
  const TemporaryFolder folder;
  const auto file = build_c(folder, "empty", "int nothing;\n");
  EXPECT_EQ(error_of([&] { load_plugin(file, "f"); }, Errc::usage),
            "f: does not export commtune_algorithm_plugin: it is not a plug-in with algorithms");
}

TEST(Plugin, another_abi_is_refused_before_anything_else_is_read) {
  const TemporaryFolder folder;
  const auto file = build_c(folder, "old",
                            "static unsigned first[16] = {77};\n"
                            "const void* commtune_algorithm_plugin(void) { return first; }\n");
  expect_contains(error_of([&] { load_plugin(file, "f"); }, Errc::usage),
                  "f: built for plug-in ABI 77, this program has 1");
}

TEST(Plugin, types_of_another_size_are_refused) {
  const TemporaryFolder folder;
  const auto file = build_c(folder, "sizes",
                            "static unsigned first[16] = {1, 1, 1, 1, 1};\n"
                            "const void* commtune_algorithm_plugin(void) { return first; }\n");
  expect_contains(error_of([&] { load_plugin(file, "f"); }, Errc::usage),
                  "f: its types differ in size from those of this program");
}

Schedule nothing(const Shape& shape, const Params&) {
  return ScheduleBuilder(Collective::allreduce, shape, 1).finish();
}

TEST(AddAlgorithm, refuses_names_that_cannot_be_asked_for) {
  const auto refused = [](std::string_view name) {
    return error_of(
        [&] {
          add_algorithm(
              std::make_shared<const Algorithm>(Algorithm{.collective = Collective::allreduce,
                                                          .name = name,
                                                          .generate = nothing,
                                                          .tunables = "",
                                                          .summary = "",
                                                          .cost = ""}),
              "f");
        },
        Errc::usage);
  };
  EXPECT_EQ(refused("ring"),
            "f: there is an algorithm allreduce/ring already; give it another name");
  expect_contains(refused("auto"), "has another meaning");
  expect_contains(refused("a,b"), "is not made of letters");
  expect_contains(refused(""), "is not made of letters");
}

}  // namespace
}  // namespace commtune::test
