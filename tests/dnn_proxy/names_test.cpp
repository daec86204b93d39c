#include "dnn_proxy/importers/names.hpp"

#include "dnn_proxy/importers/busy.hpp"
#include "dnn_proxy/importers/chrome_trace.hpp"
#include "support.hpp"

namespace commtune {
namespace {

CommKind kind_of(std::string_view text) {
  const auto parsed = parse_record_name(text);
  if (!parsed || parsed->record != RecordKind::transfer) {
    ADD_FAILURE() << text << " is not a transfer";
    return CommKind::barrier;
  }
  return parsed->kind;
}

TEST(CollectiveNames, are_known_in_every_spelling_that_frameworks_use) {
  for (const char* text : {"allreduce", "all_reduce", "allreduce_coalesced", "nccl:all_reduce",
                           "gloo:all_reduce", "c10d::allreduce_"})
    EXPECT_EQ(kind_of(text), CommKind::allreduce) << text;
  for (const char* text :
       {"_allgather_base", "all_gather_into_tensor", "allgather_into_tensor_coalesced",
        "all_gather_single_coalesced", "nccl:_all_gather_base", "all_gather"})
    EXPECT_EQ(kind_of(text), CommKind::allgather) << text;
  for (const char* text : {"reduce_scatter_tensor_coalesced", "_reduce_scatter_base",
                           "nccl:_reduce_scatter_base", "reduce_scatter"})
    EXPECT_EQ(kind_of(text), CommKind::reduce_scatter) << text;
  for (const char* text : {"ALLTOALL_BASE", "all_to_all", "all_to_allv", "nccl:all_to_all"})
    EXPECT_EQ(kind_of(text), CommKind::all_to_all) << text;
  EXPECT_EQ(kind_of("recvAnySource"), CommKind::recv);
  EXPECT_EQ(kind_of("nccl:send 0->1"), CommKind::send);
  EXPECT_EQ(kind_of("reduce"), CommKind::reduce);
  EXPECT_EQ(kind_of("gloo:barrier"), CommKind::barrier);
}

TEST(CollectiveNames, that_transfer_nothing_are_told_apart) {
  EXPECT_EQ(parse_record_name("wait")->record, RecordKind::stream_wait);
  EXPECT_EQ(parse_record_name("init")->record, RecordKind::communicator_init);
  EXPECT_FALSE(parse_record_name("allshuffle").has_value());
  EXPECT_FALSE(parse_record_name("").has_value());
}

TEST(KernelNames, of_old_and_new_libraries_are_communication) {
  EXPECT_TRUE(is_communication_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"));
  EXPECT_TRUE(is_communication_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"));
  EXPECT_TRUE(is_communication_kernel("ncclSymkDevKernel_AllGather"));
  EXPECT_FALSE(is_communication_kernel("void cudnn::bn_bw_1C11_kernel_new<float>"));
}

TEST(ElementTypes, are_known_in_both_spellings) {
  EXPECT_EQ(parse_element_type("Float")->type, DataType::float32);
  EXPECT_EQ(parse_element_type("long int")->type, DataType::int64);
  EXPECT_EQ(parse_element_type("c10::BFloat16")->type, DataType::bfloat16);
  EXPECT_EQ(parse_element_type("Half")->type, DataType::float16);
  EXPECT_FALSE(parse_element_type("Float8_e4m3fn")->exact);
  EXPECT_FALSE(parse_element_type("ComplexFloat").has_value());
}

TEST(Times, keep_nanoseconds_that_a_double_would_lose) {
  EXPECT_EQ(microseconds_to_ns("1712195495520871.123", "t"), 1712195495520871123);
  EXPECT_EQ(microseconds_to_ns("5", "t"), 5000);
  EXPECT_EQ(microseconds_to_ns("0.1239", "t"), 123);
  EXPECT_EQ(microseconds_to_ns("-1.5", "t"), -1500);
  for (const char* text : {"", ".", "1e5", "nan", "1.2.3", "99999999999999999999"})
    test::error_of([text] { microseconds_to_ns(text, "t"); });
}

TEST(BusyTime, is_the_union_inside_the_window) {
  const BusyTimeline busy({{10, 20}, {15, 30}, {40, 50}, {45, 46}, {60, 60}});
  EXPECT_EQ(busy.busy(0, 100), 30);
  EXPECT_EQ(busy.busy(12, 42), 20);
  EXPECT_EQ(busy.busy(30, 40), 0);
  EXPECT_EQ(busy.busy(50, 10), 0);
  EXPECT_TRUE(BusyTimeline({}).empty());
}

}  // namespace
}  // namespace commtune
