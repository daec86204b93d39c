#include "harness/provenance.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

#include "harness/proc_texts.hpp"

namespace commtune {
namespace {

TEST(Environment, keeps_what_matters_to_a_library_and_nothing_else) {
  const std::array<const char*, 9> variables = {
      "UCX_TLS=shm",    "HOME=/root",         "OMPI_MCA_pml=ob1", "AWS_SECRET=x", "XOMPI_A=1",
      "NCCL_DEBUG=a=b", "MALLOC_MMAP_MAX_=0", "OMP_NUM_THREADS=", "SLURM_BROKEN"};
  EXPECT_EQ(select_environment(variables).dump(),
            R"({"MALLOC_MMAP_MAX_":"0","NCCL_DEBUG":"a=b","OMPI_MCA_pml":"ob1",)"
            R"("OMP_NUM_THREADS":"","UCX_TLS":"shm"})");
}

TEST(LibraryWarnings, compare_major_and_minor_only) {
  const auto loaded = [](const char* version, const char* built) {
    return std::vector<LoadedLibrary>{{"openmpi", version, "/lib/a.so", built}};
  };
  EXPECT_TRUE(library_warnings(loaded("4.1.4", "4.1.6")).empty());
  EXPECT_TRUE(library_warnings(loaded("4.1.4", "")).empty());
  EXPECT_TRUE(library_warnings(loaded("Open MPI v4.1.4", "4.1.4")).empty());
  EXPECT_EQ(library_warnings(loaded("4.1.4", "4.0.6")),
            (std::vector<std::string>{
                "built against openmpi 4.0.6, but 4.1.4 is loaded from /lib/a.so"}));
  EXPECT_EQ(library_warnings(loaded("4.10.0", "4.1.0")).size(), 1U);
}

TEST(LibraryWarnings, name_the_rank_that_loaded_another_file) {
  const LoadedLibrary a{"openmpi", "4.1.4", "/a.so", "4.1.4"};
  const LoadedLibrary b{"openmpi", "4.1.4", "/b.so", "4.1.4"};
  EXPECT_TRUE(library_warnings({a, a, a}).empty());
  EXPECT_EQ(library_warnings({a, a, b}),
            (std::vector<std::string>{"rank 2 loaded openmpi 4.1.4 from /b.so, rank 0 loaded "
                                      "openmpi 4.1.4 from /a.so"}));
}

TEST(ProcessorModel, is_the_model_name) {
  EXPECT_EQ(processor_model("processor\t: 0\nmodel name\t: EPYC 9 (X)\nflags\t: a\n"),
            "EPYC 9 (X)");
  EXPECT_EQ(processor_model("model name\t: last line"), "last line");
  EXPECT_EQ(processor_model("processor : 0\n"), "");
  EXPECT_EQ(processor_model("model name\nflags\t: a\n"), "");
}

}  // namespace
}  // namespace commtune
