#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "devices/host/reduce_kernels.hpp"
#include "tests/devices/reduction_reference.hpp"

namespace commtune {
namespace {

using namespace reduction_reference;

constexpr Stores both_stores[] = {Stores::cached, Stores::streaming};

/// Wrong elements of `kernel` for `n` sources, writing beside them and over each of them.
template <class T>
std::size_t wrong_elements(ManyReduceKernel kernel, ReduceOp op, std::size_t n, std::size_t count) {
  std::vector<std::vector<T>> data;
  for (std::size_t source = 0; source < n; ++source) {
    data.push_back(make_data<T>(count + 2, 1 + source * 77 + count));
  }
  data.push_back(make_data<T>(count + 2, 5));
  std::vector<T> want(count);
  for (std::size_t i = 0; i < count; ++i) {
    want[i] = data[0][i + 1];
    for (std::size_t source = 1; source < n; ++source) {
      want[i] = expected(want[i], data[source][i + 1], op);
    }
  }
  std::size_t wrong = 0;
  for (std::size_t target = 0; target <= n; ++target) {
    auto buffers = data;
    std::vector<const std::byte*> sources;
    for (std::size_t source = 0; source < n; ++source) {
      sources.push_back(bytes(buffers[source]) + sizeof(T));
    }
    kernel(sources.data(), n, bytes(buffers[target]) + sizeof(T), count);
    for (std::size_t i = 0; i < count; ++i) {
      wrong += same(buffers[target][i + 1], want[i]) ? 0U : 1U;
    }
    wrong += same(buffers[target].front(), data[target].front()) ? 0U : 1U;
    wrong += same(buffers[target].back(), data[target].back()) ? 0U : 1U;
  }
  return wrong;
}

TEST(ManyReduceKernels, of_every_set_equal_a_chain_of_reductions_whatever_they_overwrite) {
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const auto type : all_data_types()) {
      for (const auto op : all_reduce_ops()) {
        for (const auto stores : both_stores) {
          for (const std::size_t n : {2U, 3U, 8U, 16U, 17U}) {
            for (const std::size_t count : {0U, 1U, 77U, 333U}) {
              for_type(type, [&](auto value) {
                const auto kernel = set->many_kernel(type, op, stores);
                EXPECT_EQ(wrong_elements<decltype(value)>(kernel, op, n, count), 0U)
                    << set->name << ' ' << name(type) << ' ' << name(op) << ' ' << n << " sources, "
                    << count << " elements";
              });
            }
          }
        }
      }
    }
  }
}

TEST(ManyReduceKernels, pass_blocks_and_many_sources) {
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const auto stores : both_stores) {
      const auto kernel = set->many_kernel(DataType::float32, ReduceOp::sum, stores);
      EXPECT_EQ(wrong_elements<float>(kernel, ReduceOp::sum, 40, 4200), 0U) << set->name;
    }
  }
}

TEST(ManyReduceKernels, the_check_notices_a_source_that_is_left_out) {
  const ManyReduceKernel two = [](const std::byte* const* sources, std::size_t, std::byte* into,
                                  std::size_t count) {
    many_reduce_kernel(DataType::int32, ReduceOp::sum)(sources, 2, into, count);
  };
  EXPECT_EQ(wrong_elements<std::int32_t>(two, ReduceOp::sum, 2, 50), 0U);
  EXPECT_GT(wrong_elements<std::int32_t>(two, ReduceOp::sum, 3, 50), 0U);
}

TEST(ReduceKernels, take_operands_at_any_byte) {
  constexpr std::size_t count = 301;
  const auto a = make_data<double>(count, 1);
  const auto b = make_data<double>(count, 2);
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const auto stores : both_stores) {
      for (const std::size_t shift : {1U, 3U, 4U}) {
        std::vector<std::byte> from_a(count * 8 + 8), from_b(count * 8 + 8), into(count * 8 + 8);
        std::memcpy(from_a.data() + shift, a.data(), count * 8);
        std::memcpy(from_b.data() + 1, b.data(), count * 8);
        set->reduce_kernel(DataType::float64, ReduceOp::sum, stores)(
            from_a.data() + shift, from_b.data() + 1, into.data() + shift, count);
        std::vector<double> sums(count);
        std::memcpy(sums.data(), into.data() + shift, count * 8);
        for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(same(sums[i], a[i] + b[i]));
      }
    }
  }
}

/// Whether a copy of `size` bytes between these offsets writes them and nothing else.
bool copies(CopyKernel kernel, std::size_t size, std::size_t from_offset, std::size_t to_offset) {
  const auto from = make_data<std::uint8_t>(size + 128, 3);
  const auto before = make_data<std::uint8_t>(size + 256, 4);
  auto into = before;
  kernel(bytes(from) + from_offset, bytes(into) + to_offset, size);
  auto want = before;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_offset), size,
              want.begin() + static_cast<std::ptrdiff_t>(to_offset));
  return into == want;
}

TEST(CopyKernels, of_every_set_copy_any_size_from_and_to_any_byte) {
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const CopyKernel kernel : set->copy) {
      for (const std::size_t size : {0U, 1U, 5U, 63U, 64U, 65U, 127U, 255U, 256U, 257U, 4097U}) {
        for (const std::size_t to : {0U, 1U, 8U, 31U, 32U, 63U}) {
          EXPECT_TRUE(copies(kernel, size, 0, to)) << set->name << ' ' << size << " to " << to;
          EXPECT_TRUE(copies(kernel, size, 7, to)) << set->name << ' ' << size << " to " << to;
        }
      }
    }
  }
}

TEST(CopyKernels, the_check_notices_one_byte_too_few_or_too_many) {
  EXPECT_TRUE(copies(copy_kernel(Stores::streaming), 100, 3, 5));
  EXPECT_FALSE(
      copies([](auto from, auto into, auto n) { std::memcpy(into, from, n - 1); }, 100, 3, 5));
  EXPECT_FALSE(
      copies([](auto from, auto into, auto n) { std::memcpy(into, from, n + 1); }, 100, 3, 5));
}

}  // namespace
}  // namespace commtune
