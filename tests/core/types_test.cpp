#include "core/types.hpp"

#include <gtest/gtest.h>

#include "tests/core/expect_error.hpp"

namespace commtune {
namespace {

TEST(Names, parse_back_to_the_same_value) {
  for (const auto value : all_collectives()) EXPECT_EQ(parse_collective(name(value), "x"), value);
  for (const auto value : all_data_types()) EXPECT_EQ(parse_data_type(name(value), "x"), value);
  for (const auto value : all_reduce_ops()) EXPECT_EQ(parse_reduce_op(name(value), "x"), value);
}

TEST(Names, are_listed_in_declaration_order) {
  EXPECT_EQ(names_of(all_collectives()),
            "allreduce, reduce, broadcast, allgather, reduce_scatter, alltoall, gather, scatter, "
            "scan, exscan, sendrecv, barrier");
  EXPECT_EQ(names_of(all_data_types()),
            "int8, int16, int32, int64, uint8, float16, bfloat16, float32, float64, float8_e4m3, "
            "float8_e5m2");
  EXPECT_EQ(names_of(all_reduce_ops()), "sum, prod, min, max, avg");
  int position = 0;
  for (const auto value : all_data_types()) EXPECT_EQ(static_cast<int>(value), position++);
}

TEST(Names, unknown_ones_are_refused_with_the_list_of_valid_ones) {
  EXPECT_EQ(error_of(Errc::usage, [] { parse_data_type("flaot", "--dtype"); }),
            "--dtype: unknown data type \"flaot\"; valid names: int8, int16, int32, int64, uint8, "
            "float16, bfloat16, float32, float64, float8_e4m3, float8_e5m2");
  EXPECT_EQ(error_of(Errc::usage, [] { parse_reduce_op("mean", "--op"); }),
            "--op: unknown reduction \"mean\"; valid names: sum, prod, min, max, avg");
  EXPECT_EQ(error_of(Errc::usage, [] { parse_collective("all_to_all", "tune"); }),
            "tune: unknown collective \"all_to_all\"; valid names: allreduce, reduce, broadcast, "
            "allgather, reduce_scatter, alltoall, gather, scatter, scan, exscan, sendrecv, "
            "barrier");
}

TEST(Names, must_match_exactly) {
  for (const char* text : {"", "Float32", "float32 ", " float32", "float", "float3", "float322"}) {
    error_of(Errc::usage, [&] { parse_data_type(text, "--dtype"); });
  }
}

TEST(DataTypes, have_the_size_of_their_storage) {
  const std::size_t sizes[] = {1, 2, 4, 8, 1, 2, 2, 4, 8, 1, 1};
  for (const auto type : all_data_types()) {
    EXPECT_EQ(size_of(type), sizes[static_cast<std::size_t>(type)]) << name(type);
  }
}

}  // namespace
}  // namespace commtune
