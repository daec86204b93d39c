// NaN, infinity, overflow and wrapping keep their documented meaning through every allreduce.
#include <cstring>
#include <map>

#include "tests/collectives/fixture.hpp"

namespace commtune::test {
namespace {

/// Bit patterns of a floating-point type; `infinity` is 0 where it has none.
struct Patterns {
  std::uint64_t one, largest, infinity, nan, sign;
  bool saturates = false;
};
const std::map<DataType, Patterns>& patterns() {
  static const std::map<DataType, Patterns> known{
      {DataType::float16, {0x3c00, 0x7bff, 0x7c00, 0x7e00, 0x8000}},
      {DataType::bfloat16, {0x3f80, 0x7f7f, 0x7f80, 0x7fc0, 0x8000}},
      {DataType::float32, {0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x80000000}},
      {DataType::float64,
       {0x3ff0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000,
        0x8000000000000000}},
      {DataType::float8_e4m3, {0x38, 0x7e, 0, 0x7f, 0x80, true}},
      {DataType::float8_e5m2, {0x3c, 0x7b, 0x7c, 0x7e, 0x80, true}}};
  return known;
}

std::uint64_t element(std::span<const std::byte> data, std::size_t i, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data.data() + i * bytes, bytes);
  return bits;
}
void set_element(std::span<std::byte> data, std::size_t i, std::size_t bytes, std::uint64_t bits) {
  std::memcpy(data.data() + i * bytes, &bits, bytes);
}

bool is_nan(const Patterns& type, std::uint64_t bits) {
  const std::uint64_t magnitude = bits & ~type.sign;
  return type.infinity == 0 ? magnitude == type.nan : magnitude > type.infinity;
}

/// What the ranks contribute to one element (zero beyond the first two) and what must come out.
struct Example {
  ReduceOp op;
  std::uint64_t first, second;
  bool gives_nan;
  std::uint64_t result;
};
std::vector<Example> examples_of(const Patterns& type) {
  std::vector<Example> all{{ReduceOp::sum, type.nan, type.one, true, 0},
                           {ReduceOp::sum, type.one, type.nan, true, 0},
                           {ReduceOp::prod, type.nan, type.one, true, 0},
                           {ReduceOp::min, type.nan, type.one, true, 0},
                           {ReduceOp::max, type.one, type.nan, true, 0},
                           {ReduceOp::avg, type.nan, type.one, true, 0},
                           {ReduceOp::sum, type.largest, type.largest, false,
                            type.saturates ? type.largest : type.infinity}};
  if (type.infinity == 0) return all;
  const std::uint64_t infinite = type.saturates ? type.largest : type.infinity;
  all.push_back({ReduceOp::sum, type.infinity, type.one, false, infinite});
  all.push_back({ReduceOp::max, type.infinity, type.one, false, type.infinity});
  all.push_back(
      {ReduceOp::min, type.infinity | type.sign, type.one, false, type.infinity | type.sign});
  if (!type.saturates) {
    all.push_back({ReduceOp::sum, type.infinity, type.infinity | type.sign, true, 0});
  }
  return all;
}

/// Every element is the example, at a place of its own in every algorithm's blocks.
void check_example(Job& job, const Algorithm& algorithm, DataType type, const Example& example) {
  constexpr std::uint64_t count = 37;
  const Patterns& bits = patterns().at(type);
  const std::size_t bytes = size_of(type);
  CallBuffers buffers(job.transport, {.count = count, .type = type, .op = example.op});
  const std::uint64_t rest =
      example.op == ReduceOp::sum || example.op == ReduceOp::avg ? 0 : bits.one;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t mine = job.rank() == 0   ? example.first
                               : job.rank() == 1 ? example.second
                                                 : rest;
    set_element(buffers.input, i, bytes, mine);
  }
  prepare(job.transport, algorithm, {}, buffers.call)->run();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t got = element(buffers.output, i, bytes);
    const bool right = example.gives_nan ? is_nan(bits, got) : got == example.result;
    if (right) continue;
    fail(Errc::wrong_result, "{} of {:#x} and {:#x}: rank {} element {} is {:#x}",
         text_of(buffers.call, algorithm.name, job.size()), example.first, example.second,
         job.rank(), i, got);
  }
}

template <class Body>
void for_each_allreduce(const Body& body) {
  for (const std::string transport : {"threads", "shm"}) {
    expect_job(transport, 4, [&](Job& job) {
      for (const Algorithm* algorithm : algorithms()) {
        if (algorithm->collective != Collective::allreduce) continue;
        if (refusal(*algorithm, {0, job.size(), 0, false}, {}).empty()) body(job, *algorithm);
      }
    });
  }
}

TEST(SpecialValues, keep_their_meaning_in_every_allreduce) {
  for_each_allreduce([](Job& job, const Algorithm& algorithm) {
    for (const auto& [type, bits] : patterns()) {
      for (const Example& example : examples_of(bits)) check_example(job, algorithm, type, example);
    }
  });
}

TEST(SpecialValues, wrap_in_integer_types) {
  for_each_allreduce([](Job& job, const Algorithm& algorithm) {
    for (const DataType type :
         {DataType::int8, DataType::int16, DataType::int32, DataType::int64, DataType::uint8}) {
      const std::size_t bytes = size_of(type);
      const std::uint64_t mask =
          bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
      const std::uint64_t mine = (mask / 2 - 5) & mask;  // near the largest signed value
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod}) {
        CallBuffers buffers(job.transport, {.count = 19, .type = type, .op = op});
        for (std::size_t i = 0; i < 19; ++i) set_element(buffers.input, i, bytes, mine);
        prepare(job.transport, algorithm, {}, buffers.call)->run();
        const std::uint64_t expected =
            (op == ReduceOp::sum ? mine * 4 : mine * mine * mine * mine) & mask;
        for (std::size_t i = 0; i < 19; ++i) {
          const std::uint64_t got = element(buffers.output, i, bytes);
          if (got == expected) continue;
          fail(Errc::wrong_result, "{}: element {} is {:#x}, expected {:#x}",
               text_of(buffers.call, algorithm.name, job.size()), i, got, expected);
        }
      }
    }
  });
}

}  // namespace
}  // namespace commtune::test
