#include "harness/report.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include "core/error.hpp"
#include "harness/report_format.hpp"
#include "sample_rows.hpp"

namespace commtune {
namespace {

Json sample_run() {
  return {{"build", {{"version", "0.1.0"}}},
          {"transport", {{"name", "shm"}}},
          {"library", {{"name", "openmpi"}, {"version", "4.1.4"}}},
          {"hosts", Json::array({"n1", "n2"})},
          {"ranks", Json::array({Json::object(), Json::object(), Json::object()})},
          {"warnings", Json::array({"built against openmpi 4.0"})}};
}

std::string print(std::string_view format, const std::vector<Row>& rows,
                  std::string_view status = "ok", std::string_view reason = "") {
  std::ostringstream out;
  const auto report = make_report(format, out);
  report->begin(sample_run());
  for (const Row& row : rows) report->add(row);
  report->end(status, reason);
  return out.str();
}

Row bandwidth_row() {
  Row row = allreduce_row();
  row.test = "bandwidth";
  row.collective = row.op = row.algorithm_used = "";
  row.bytes_per_rank = 1 << 20;
  row.algbw_gbs = 12.3456789;
  row.flags.clear();
  return row;
}

Row barrier_row() {
  Row row = allreduce_row();
  row.test = row.collective = "barrier";
  row.bytes_per_rank = 0;
  row.dtype = row.op = "";
  row.algorithm_used = "dissemination";
  row.algbw_gbs = row.busbw_gbs = std::nullopt;
  row.check_iterations = 0;
  return row;
}

TEST(OsuReport, prints_the_columns_that_parsers_expect) {
  Row larger = allreduce_row();
  larger.bytes_per_rank = 4194304;
  larger.time->mean = 123456.789;
  larger.check_wrong = 2;
  EXPECT_EQ(print("osu", {allreduce_row(), larger, bandwidth_row(), skipped_row(), barrier_row()}),
            "\n# commtune allreduce latency test, OSU 7 format\n"
            "# Transport: shm, library: none, algorithm: ring, ranks: 3\n"
            "# Datatype: float32.\n"
            "# Size       Avg Latency(us)\n"
            "1024                   13.12\n"
            "4194304            123456.79\n"
            "# validation: 2 wrong\n"
            "\n# commtune bandwidth test, OSU 7 format\n"
            "# Transport: shm, library: none, algorithm: none, ranks: 3\n"
            "# Datatype: float32.\n"
            "# Size      Bandwidth (MB/s)\n"
            "1048576             12345.68\n"
            "# skipped bandwidth 64K: needs 2 ranks, got 1\n"
            "\n# commtune barrier latency test, OSU 7 format\n"
            "# Transport: shm, library: none, algorithm: dissemination, ranks: 3\n"
            "# Avg Latency(us)\n"
            "            13.12\n");
}

TEST(OsuReport, says_why_a_run_stopped) {
  EXPECT_EQ(print("osu", {}, "failed", "rank 1 left"), "# failed: rank 1 left\n");
}

TEST(CsvReport, has_a_stable_header_and_one_line_per_row) {
  Row quoted = skipped_row();
  quoted.reason = "needs \"2\" ranks, got 1";
  EXPECT_EQ(
      print("csv", {allreduce_row(), quoted}),
      "schema,test,transport,library,device,collective,algorithm_asked,algorithm_used,params,ranks,"
      "nodes,ppn,bytes_per_rank,bytes_total,bytes_off_node,count,dtype,op,root,in_place,buffers,"
      "samples,median_us,ci_low_us,ci_high_us,mean_us,min_us,p50_us,p90_us,p95_us,p99_us,max_us,"
      "entry_skew_us,first_call_us,algbw_gbs,busbw_gbs,check_iterations,check_wrong,check_max_ulp,"
      "c2c_before_ns,c2c_after_ns,load,steal,flags,status,reason,bytes_asked,evidence,copy_before_"
      "gbs,"
      "copy_after_gbs,clock_error_us,last_in_rank,last_in_host,last_in_share,last_out_rank,"
      "last_out_host,last_out_share\n"
      "commtune.result/1,allreduce,shm,,host,allreduce,auto,ring,\"{\"\"segments\"\":2}\",3,1,3,"
      "1024,1024,0,256,float32,sum,,false,hot,120,12.5,12.25,12.75,13.125,11.0,12.5,14.0,15.0,20.0,"
      "30.5,0.5,99.5,0.08192,0.125,1,0,0.0,75.5,76.0,0.25,0.0,few_samples oversubscribed,ok,,"
      "1024,built-in table,10.0,,0.25,2,node1,0.75,0,node0,0.5\n"
      "commtune.result/1,bandwidth,mpi,openmpi,host,,,,{},1,1,0,65536,0,0,0,,,,false,hot,,,,,,,,,,,"
      ",,,,,0,0,0.0,,,0.0,0.0,,skipped,\"needs \"\"2\"\" ranks, got 1\",0,,,,,,,,,,\n");
}

TEST(CsvReport, every_line_has_as_many_fields_as_the_header) {
  Row row = allreduce_row();
  row.params = Json::object();
  std::istringstream lines(print("csv", {row, barrier_row(), bandwidth_row(), Row()}));
  std::string line;
  std::getline(lines, line);
  const auto fields = std::count(line.begin(), line.end(), ',');
  std::string next = print("csv", {row});
  next = next.substr(next.find('\n') + 1);
  EXPECT_EQ(std::count(next.begin(), next.end(), ','), fields);
}

TEST(JsonReport, prints_one_document_at_the_end) {
  const Json document = parse_json(
      print("json", {allreduce_row(), skipped_row()}, "failed", "rank 1 left"), "stdout");
  EXPECT_EQ(document["schema"], "commtune.result/1");
  EXPECT_EQ(document["status"], "failed");
  EXPECT_EQ(document["reason"], "rank 1 left");
  EXPECT_EQ(document["run"], sample_run());
  EXPECT_EQ(document["rows"][0], to_json(allreduce_row()));
  EXPECT_EQ(document["rows"].size(), 2U);
}

TEST(TableReport, is_aligned_and_prints_what_is_missing_as_not_available) {
  Row alone = allreduce_row();
  alone.ranks = 1;
  alone.busbw_gbs = std::nullopt;
  alone.check_wrong = 5;
  alone.flags.clear();
  EXPECT_EQ(
      print("table", {allreduce_row(), alone, skipped_row()}),
      "# commtune 0.1.0, transport shm, library openmpi 4.1.4, 3 ranks, host n1, n2\n"
      "# warning: built against openmpi 4.0\n"
      "# busbw is algbw times a factor of the collective, not the rate of a link\n"
      "\n# allreduce, float32, sum, hot buffers; times in us, bandwidths in GB/s (10^9)\n"
      "    size  algorithm                  median              interval        p99        max    "
      "algbw    busbw  check     flags\n"
      "      1K  ring                        12.50        [12.25, 12.75]      20.00      30.50     "
      "0.08     0.12  ok        few_samples oversubscribed\n"
      "      1K  ring                        12.50        [12.25, 12.75]      20.00      30.50     "
      "0.08      n/a  5 wrong\n"
      "\n# bandwidth, hot buffers; times in us, bandwidths in GB/s (10^9)\n"
      "    size  algorithm                  median              interval        p99        max    "
      "algbw    busbw  check     flags\n"
      "# skipped bandwidth 64K: needs 2 ranks, got 1\n");
}

TEST(TableReport, names_a_straggler_only_where_it_matters) {
  const std::string footnote =
      "\n# rank 2 on node1 entered last in 75 % of the iterations, skew 0.50 us\n";
  Row row = allreduce_row();
  EXPECT_EQ(print("table", {row}).find("last in"), std::string::npos);
  row.flags = {"entry_skew"};
  EXPECT_NE(print("table", {row}).find(footnote), std::string::npos) << print("table", {row});
  row.straggler->last_in.share = 0.5;
  EXPECT_EQ(print("table", {row}).find("last in"), std::string::npos);
  row.straggler = std::nullopt;
  EXPECT_EQ(print("table", {row}).find("last in"), std::string::npos);
}

TEST(JsonReport, has_what_became_known_of_the_run_later) {
  std::ostringstream out;
  const auto report = make_report("json", out);
  report->begin(sample_run());
  report->update_run({{"clock_error_us", 2.5}});
  report->end("ok", "");
  Json expected = sample_run();
  expected["clock_error_us"] = 2.5;
  EXPECT_EQ(parse_json(out.str(), "stdout")["run"], expected);
}

TEST(TableReport, shows_the_bytes_between_nodes_where_there_are_several) {
  Row known = allreduce_row();
  known.nodes = 2;
  known.bytes_off_node = 4096;
  Row unknown = known;
  unknown.bytes_off_node = 0;
  unknown.flags = {"off_node_unknown"};
  const std::string text = print("table", {known, unknown});
  EXPECT_NE(text.find("   busbw   off-node  check     flags\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    0.12         4K  ok        few_samples"), std::string::npos) << text;
  EXPECT_NE(text.find("    0.12        n/a  ok        off_node_unknown"), std::string::npos)
      << text;
}

TEST(Report, shows_a_library_whose_algorithm_is_unknown_as_native) {
  Row row = allreduce_row();
  row.library = "openmpi";
  row.algorithm_asked = "native";
  row.algorithm_used = "unknown";
  EXPECT_NE(print("osu", {row}).find("algorithm: native,"), std::string::npos);
  row.status = "failed";
  row.reason = "wrong data";
  for (const char* format : {"table", "osu"}) {
    const std::string text = print(format, {row});
    EXPECT_NE(text.find("# failed allreduce/native 1K, library openmpi: wrong data\n"),
              std::string::npos)
        << text;
  }
}

TEST(Report, shows_the_size_that_was_asked_when_it_holds_no_element) {
  Row row = skipped_row();
  row.bytes_asked = 3;
  row.bytes_per_rank = 0;
  EXPECT_NE(print("table", {row}).find("# skipped bandwidth 3: "), std::string::npos);
}

TEST(TableReport, accepts_a_run_that_says_nothing) {
  std::ostringstream out;
  make_report("table", out)->begin(Json::object());
  EXPECT_EQ(out.str(),
            "# commtune ?, transport ?, library none, 0 ranks, host \n"
            "# busbw is algbw times a factor of the collective, not the rate of a link\n");
}

TEST(Report, refuses_an_unknown_format_with_the_valid_ones) {
  std::ostringstream out;
  try {
    make_report("xml", out);
    FAIL() << "xml was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "--format: \"xml\" is not one of table, osu, csv, json");
  }
}

TEST(ShownAlgorithm, tells_rows_of_one_table_apart) {
  Row row;
  row.algorithm_used = "ring";
  row.algorithm_asked = "auto";
  EXPECT_EQ(shown_algorithm(row), "ring");
  row.algorithm_asked = "ring:segments=4";
  EXPECT_EQ(shown_algorithm(row), "ring:segments=4");
  row.algorithm_asked = "gloo";
  row.library = "gloo";
  EXPECT_EQ(shown_algorithm(row), "gloo/ring");
  row.algorithm_asked = "native";
  row.library = "openmpi";
  EXPECT_EQ(shown_algorithm(row), "ring");
}

}  // namespace
}  // namespace commtune
