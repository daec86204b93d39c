#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "core/error.hpp"
#include "sample_rows.hpp"

namespace commtune {
namespace {

class ResultFileTest : public testing::Test {
 protected:
  ResultFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("commtune_result_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ResultFileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& text) {
    std::filesystem::path path = folder_ / "hand.json";
    std::ofstream(path) << text;
    return path;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
  Json run_ = {{"seed", 7}};
};

TEST_F(ResultFileTest, is_valid_after_every_step) {
  const auto path = folder_ / "result.json";
  ResultFile file(path, run_);
  EXPECT_EQ(read_result(path).status, "partial");
  EXPECT_TRUE(read_result(path).rows.empty());
  EXPECT_EQ(read_result(path).run["seed"], 7);
  for (std::size_t n = 1; n <= 3; ++n) {
    file.add(n % 2 != 0 ? allreduce_row() : skipped_row());
    const ResultDocument document = read_result(path);
    EXPECT_EQ(document.status, "partial");
    EXPECT_EQ(document.rows.size(), n);
  }
  file.finish("ok", "");
  const ResultDocument document = read_result(path);
  EXPECT_EQ(document.status, "ok");
  EXPECT_EQ(document.reason, "");
  EXPECT_EQ(to_json(document.rows[0]), to_json(allreduce_row()));
  EXPECT_EQ(to_json(document.rows[1]), to_json(skipped_row()));
  EXPECT_EQ(files(), 1U);
}

TEST_F(ResultFileTest, document_has_the_keys_of_the_interface_in_order) {
  const auto path = folder_ / "result.json";
  const ResultFile file(path, run_);
  const Json json = read_json(path);
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(keys, "schema status reason run rows ");
  EXPECT_EQ(json["schema"], "commtune.result/1");
  EXPECT_TRUE(json["reason"].is_null());
}

TEST_F(ResultFileTest, writes_what_became_known_of_the_run_with_the_next_row) {
  const auto path = folder_ / "result.json";
  ResultFile file(path, run_);
  file.update_run({{"clock_error_us", 2.5}});
  EXPECT_FALSE(read_result(path).run.contains("clock_error_us"));
  file.add(allreduce_row());
  EXPECT_EQ(read_result(path).run["clock_error_us"], 2.5);
  EXPECT_EQ(read_result(path).run["seed"], 7);
}

TEST_F(ResultFileTest, empty_path_writes_nothing) {
  ResultFile file({}, run_);
  file.add(allreduce_row());
  file.finish("ok", "");
  close_result_file({}, "rank 1 left");
  EXPECT_EQ(files(), 0U);
}

TEST_F(ResultFileTest, closing_marks_a_partial_file_and_keeps_its_rows) {
  const auto path = folder_ / "result.json";
  ResultFile(path, run_).add(allreduce_row());
  close_result_file(path, "rank 1 was killed in timed iteration 3");
  const ResultDocument document = read_result(path);
  EXPECT_EQ(document.status, "failed");
  EXPECT_EQ(document.reason, "rank 1 was killed in timed iteration 3");
  EXPECT_EQ(document.rows.size(), 1U);
}

TEST_F(ResultFileTest, closing_leaves_finished_and_absent_files_alone) {
  const auto path = folder_ / "result.json";
  close_result_file(path, "rank 1 left");
  EXPECT_EQ(files(), 0U);
  ResultFile(path, run_).finish("ok", "");
  close_result_file(path, "rank 1 left");
  EXPECT_EQ(read_result(path).status, "ok");
}

TEST_F(ResultFileTest, reader_names_the_file_and_the_row) {
  Json row = to_json(allreduce_row());
  row["speed"] = 1;
  const Json document = {{"schema", "commtune.result/1"},
                         {"status", "ok"},
                         {"reason", nullptr},
                         {"run", Json::object()},
                         {"rows", Json::array({to_json(allreduce_row()), row})}};
  const auto path = write(document.dump());
  try {
    read_result(path);
    FAIL() << "an unknown key was accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("hand.json: rows[1]"), std::string::npos) << message;
    EXPECT_NE(message.find("speed"), std::string::npos) << message;
  }
}

TEST_F(ResultFileTest, reader_refuses_other_documents) {
  const char* const refused[] = {
      "",
      "[]",
      "{}",
      R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":{},"rows":[NaN]})",
      R"({"schema":"commtune.result/1","status":"ok","reason":NaN,"run":{},"rows":[]})",
      R"({"schema":"commtune.result/2","status":"ok","reason":null,"run":{},"rows":[]})",
      R"({"schema":"commtune.result/1","status":"done","reason":null,"run":{},"rows":[]})",
      R"({"schema":"commtune.result/1","status":"ok","reason":1,"run":{},"rows":[]})",
      R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":[],"rows":[]})",
      R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":{},"rows":{}})",
      R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":{}})",
      R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":{},"rows":[],"x":1})",
      R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":{},"rows":[]} tail)",
  };
  for (const char* const text : refused) EXPECT_THROW(read_result(write(text)), Error) << text;
  const auto accepted =
      write(R"({"schema":"commtune.result/1","status":"ok","reason":null,"run":{},"rows":[]})");
  EXPECT_TRUE(read_result(accepted).rows.empty());
}

}  // namespace
}  // namespace commtune
