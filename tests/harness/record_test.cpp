#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "sample_rows.hpp"

namespace commtune {
namespace {

std::string refusal(const Json& json) {
  try {
    row_from_json(json, "file.json: rows[3]");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::usage);
    return error.what();
  }
  return {};
}

void expect_refused(const Json& json, const std::string& field) {
  const std::string message = refusal(json);
  EXPECT_NE(message.find("rows[3]"), std::string::npos) << message;
  EXPECT_NE(message.find(field), std::string::npos) << field << ": " << message;
}

TEST(Row, has_exactly_the_fields_of_the_interface_in_order) {
  const Json json = to_json(allreduce_row());
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(
      keys,
      "test collective transport library device ranks nodes ppn algorithm params bytes_asked "
      "bytes_per_rank bytes_total bytes_off_node count dtype op root in_place buffers time_us "
      "entry_skew_us clock_error_us straggler first_call_us machine_state algbw_gbs busbw_gbs "
      "check flags status "
      "reason ");
  EXPECT_EQ(json["algorithm"].dump(),
            R"({"asked":"auto","used":"ring","evidence":"built-in table"})");
  EXPECT_EQ(json["time_us"].dump(),
            R"({"median":12.5,"ci_low":12.25,"ci_high":12.75,"mean":13.125,"min":11.0,"p50":12.5,)"
            R"("p90":14.0,"p95":15.0,"p99":20.0,"max":30.5,"samples":120})");
  EXPECT_EQ(json["machine_state"].dump(),
            R"({"c2c_ns":[75.5,76.0],"copy_gbs":[10.0,null],"load":0.25,"steal":0.0})");
  EXPECT_EQ(json["straggler"].dump(), R"({"last_in":{"rank":2,"host":"node1","share":0.75},)"
                                      R"("last_out":{"rank":0,"host":"node0","share":0.5}})");
  EXPECT_EQ(json["check"].dump(), R"({"iterations":1,"wrong":0,"max_ulp":0.0})");
}

TEST(Row, survives_a_round_trip) {
  for (const Row& row : {allreduce_row(), skipped_row()}) {
    const Json json = to_json(row);
    EXPECT_EQ(to_json(row_from_json(json, "row")), json);
  }
  Row rooted = allreduce_row();
  rooted.root = 2;
  rooted.buffers = "cold";
  EXPECT_EQ(row_from_json(to_json(rooted), "row").root, 2);
}

TEST(Row, missing_numbers_are_null) {
  const Json json = to_json(skipped_row());
  for (const char* key :
       {"time_us", "entry_skew_us", "clock_error_us", "straggler", "first_call_us", "algbw_gbs",
        "busbw_gbs", "root", "dtype", "op", "collective"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
}

TEST(Row, never_writes_nan_or_infinity) {
  Row row = allreduce_row();
  row.time->max = std::numeric_limits<double>::infinity();
  row.time->mean = std::nan("");
  row.algbw_gbs = std::nan("");
  row.check_max_ulp = -std::numeric_limits<double>::infinity();
  row.machine.load = std::nan("");
  const Json json = to_json(row);
  EXPECT_TRUE(json["time_us"]["max"].is_null());
  EXPECT_TRUE(json["time_us"]["mean"].is_null());
  EXPECT_TRUE(json["algbw_gbs"].is_null());
  EXPECT_TRUE(json["check"]["max_ulp"].is_null());
  EXPECT_TRUE(json["machine_state"]["load"].is_null());
  EXPECT_EQ(to_json(row_from_json(json, "row")), json);
  row.check_max_ulp = std::nullopt;
  EXPECT_TRUE(to_json(row)["check"]["max_ulp"].is_null());
}

TEST(RowReader, refuses_every_missing_key) {
  const Json complete = to_json(allreduce_row());
  for (const auto& [key, value] : complete.items()) {
    Json json = complete;
    json.erase(key);
    if (key != "clock_error_us" && key != "straggler") expect_refused(json, key);
    if (!value.is_object() || key == "params") continue;
    for (const auto& [inner, unused] : value.items()) {
      Json nested = complete;
      nested[key].erase(inner);
      expect_refused(nested, inner);
    }
  }
}

TEST(RowReader, accepts_rows_of_versions_that_named_no_straggler) {
  Json json = to_json(allreduce_row());
  json.erase("clock_error_us");
  json.erase("straggler");
  const Row row = row_from_json(json, "row");
  EXPECT_FALSE(row.clock_error_us.has_value());
  EXPECT_FALSE(row.straggler.has_value());
  EXPECT_EQ(row.first_call_us, 99.5);
}

TEST(RowReader, refuses_unknown_keys_at_every_level) {
  Json json = to_json(allreduce_row());
  json["speed"] = 1;
  expect_refused(json, "speed");
  for (const char* key : {"algorithm", "time_us", "machine_state", "check", "straggler"}) {
    Json nested = to_json(allreduce_row());
    nested[key]["speed"] = 1;
    expect_refused(nested, "speed");
  }
}

TEST(RowReader, refuses_wrong_types_and_values) {
  const auto with = [](const char* key, const Json& value) {
    Json json = to_json(allreduce_row());
    json[key] = value;
    return json;
  };
  expect_refused(with("algbw_gbs", "NaN"), "algbw_gbs");
  expect_refused(with("test", nullptr), "test");
  expect_refused(with("ranks", 0), "ranks");
  expect_refused(with("ranks", -1), "ranks");
  expect_refused(with("ranks", 1e10), "ranks");
  expect_refused(with("ranks", 4294967296), "ranks");
  expect_refused(with("root", -1), "root");
  expect_refused(with("count", 1.5), "count");
  expect_refused(with("in_place", 1), "in_place");
  expect_refused(with("buffers", "warm"), "buffers");
  expect_refused(with("status", "fine"), "status");
  expect_refused(with("time_us", Json::array()), "time_us");
  expect_refused(with("flags", "few_samples"), "flags");
  expect_refused(with("flags", Json::array({1})), "flags");
  expect_refused(with("params", Json::array()), "params");
  expect_refused(with("dtype", 4), "dtype");
  Json pair = to_json(allreduce_row());
  pair["machine_state"]["c2c_ns"] = Json::array({75.5});
  expect_refused(pair, "c2c_ns");
  Json straggler = to_json(allreduce_row());
  straggler["straggler"]["last_in"]["share"] = 1.5;
  expect_refused(straggler, "share");
  straggler["straggler"]["last_in"] = nullptr;
  expect_refused(straggler, "last_in");
  expect_refused(with("clock_error_us", "0"), "clock_error_us");
  Json text = to_json(allreduce_row());
  text["time_us"]["median"] = "12.5";
  expect_refused(text, "median");
}

TEST(BusFactor, follows_the_table) {
  EXPECT_EQ(bus_factor(Collective::allreduce, 2), 1.0);
  EXPECT_EQ(bus_factor(Collective::allreduce, 3), 4.0 / 3);
  EXPECT_EQ(bus_factor(Collective::allreduce, 8), 1.75);
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter}) {
    EXPECT_EQ(bus_factor(collective, 2), 0.5);
    EXPECT_EQ(bus_factor(collective, 3), 2.0 / 3);
    EXPECT_EQ(bus_factor(collective, 8), 0.875);
  }
  EXPECT_EQ(bus_factor(Collective::broadcast, 2), 1.0);
  EXPECT_EQ(bus_factor(Collective::broadcast, 8), 1.0);
  for (const Collective collective : all_collectives()) {
    EXPECT_EQ(bus_factor(collective, 1), std::nullopt);
  }
  EXPECT_EQ(bus_factor(Collective::barrier, 8), std::nullopt);
}

double rounded(double value) { return std::round(value * 100) / 100; }

TEST(BusFactor, gives_the_published_bandwidths) {
  const std::uint64_t part = std::uint64_t{16} * 1024 * 1024 * 4;
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter}) {
    const std::uint64_t total = total_bytes(collective, 8, part);
    EXPECT_EQ(total, std::uint64_t{512} << 20);
    const double algbw = static_cast<double>(total) / 0.010 / 1e9;
    EXPECT_EQ(rounded(algbw), 53.69);
    EXPECT_EQ(rounded(algbw * *bus_factor(collective, 8)), 46.98);
  }
  const double algbw = static_cast<double>(std::uint64_t{1} << 30) / 0.010 / 1e9;
  EXPECT_EQ(rounded(algbw), 107.37);
  EXPECT_EQ(rounded(algbw * *bus_factor(Collective::allreduce, 8)), 187.90);
  EXPECT_EQ(rounded(algbw * *bus_factor(Collective::allgather, 8)), 93.95);
}

TEST(TotalBytes, is_the_vector_or_all_parts) {
  EXPECT_EQ(total_bytes(Collective::allreduce, 3, 100), 100U);
  EXPECT_EQ(total_bytes(Collective::broadcast, 3, 100), 100U);
  EXPECT_EQ(total_bytes(Collective::allgather, 3, 100), 300U);
  EXPECT_EQ(total_bytes(Collective::reduce_scatter, 3, 100), 300U);
  EXPECT_EQ(total_bytes(Collective::barrier, 3, 0), 0U);
}

}  // namespace
}  // namespace commtune
