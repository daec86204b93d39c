#include "core/json.hpp"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/expect_error.hpp"

namespace commtune {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "commtune-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

void write_text(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ParseJson, keeps_the_order_of_keys_and_exact_numbers) {
  const Json value = parse_json(R"({"z":1,"a":[18446744073709551615,-3,0.1,null,true,"é"]})", "x");
  EXPECT_EQ(value.dump(), R"({"z":1,"a":[18446744073709551615,-3,0.1,null,true,"é"]})");
}

TEST(ParseJson, names_source_and_byte_of_bad_syntax) {
  const std::pair<const char*, const char*> table[] = {
      {"", "f.json: byte 1: "},           {"{", "f.json: byte 2: "},
      {"{\"a\":1,}", "f.json: byte 8: "}, {"[1,2", "f.json: byte 5: "},
      {"{} {}", "f.json: byte 4: "},      {"1 x", "f.json: byte 3: "},
      {"nan", "f.json: byte 2: "},        {"[NaN]", "f.json: byte 2: "},
      {"{'a':1}", "f.json: byte 2: "},    {"[01]", "f.json: byte 3: "},
      {"\"\xff\"", "f.json: byte 2: "},   {"// c\n1", "f.json: byte 1: "},
      {"[1e400]", "f.json: byte 7: "},
  };
  for (const auto& [text, start] : table) {
    const auto message = error_of(Errc::usage, [&, t = text] { parse_json(t, "f.json"); });
    EXPECT_EQ(message.rfind(start, 0), 0U) << text << " gave " << message;
    EXPECT_FALSE(holds(message, "json.exception")) << message;
  }
}

TEST(ParseJson, refuses_duplicate_keys_at_any_depth) {
  EXPECT_EQ(error_of(Errc::usage, [] { parse_json(R"({"a":1,"a":2})", "f"); }),
            "f: byte 10: duplicate key \"a\"");
  EXPECT_TRUE(
      holds(error_of(Errc::usage, [] { parse_json(R"([{"b":{"c":0,"d":{},"c":1}}])", "f"); }),
            "duplicate key \"c\""));
  EXPECT_TRUE(holds(error_of(Errc::usage, [] { parse_json(R"({"a":{},"\u0061":1})", "f"); }),
                    "duplicate key \"a\""));
}

TEST(ParseJson, allows_equal_keys_in_different_objects) {
  EXPECT_EQ(parse_json(R"([{"a":{"a":1}},{"a":2}])", "f").dump(), R"([{"a":{"a":1}},{"a":2}])");
}

TEST(ParseJson, refuses_nesting_that_would_exhaust_the_stack) {
  EXPECT_EQ(parse_json(std::string(200, '[') + std::string(200, ']'), "f").size(), 1U);
  EXPECT_TRUE(holds(error_of(Errc::usage, [] { parse_json(std::string(100'000, '['), "f"); }),
                    "nested deeper than 256 levels"));
}

TEST(ReadJson, names_the_path_in_every_error) {
  const Folder folder;
  const auto path = folder / "broken.json";
  write_text(path, "{\"a\":}");
  EXPECT_EQ(error_of(Errc::usage, [&] { read_json(path); }).rfind(path.string() + ": byte 6: ", 0),
            0U);
  EXPECT_EQ(error_of(Errc::usage, [&] { read_json(folder / "absent.json"); }),
            (folder / "absent.json").string() + ": cannot open: No such file or directory");
  EXPECT_TRUE(holds(error_of(Errc::usage, [&] { read_json(folder / "."); }), "Is a directory"));
}

TEST(ReadJson, reads_what_was_written) {
  const Folder folder;
  Json value = {{"schema", "x/1"}, {"rows", Json::array()}};
  for (int row = 0; row < 20'000; ++row) value["rows"].push_back(row);
  write_json_atomically(folder / "a.json", value);
  EXPECT_EQ(read_json(folder / "a.json"), value);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteJson, replaces_an_existing_file_and_leaves_nothing_else) {
  const Folder folder;
  write_text(folder / "a.json", "old text that is longer than the new one");
  write_json_atomically(folder / "a.json", Json{{"a", 1}});
  EXPECT_EQ(text_of(folder / "a.json"), "{\n \"a\": 1\n}\n");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteJson, follows_a_symbolic_link) {
  const Folder folder;
  write_text(folder / "real.json", "1");
  fs::create_symlink(folder / "real.json", folder / "link.json");
  write_json_atomically(folder / "link.json", 2);
  EXPECT_TRUE(fs::is_symlink(folder / "link.json"));
  EXPECT_EQ(text_of(folder / "real.json"), "2\n");
}

TEST(WriteJson, writes_through_a_fifo_without_replacing_it) {
  const Folder folder;
  const auto path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::fstream reader(path, std::ios::in | std::ios::out);
  write_json_atomically(path, 7);
  EXPECT_TRUE(fs::is_fifo(path));
  std::string line;
  std::getline(reader, line);
  EXPECT_EQ(line, "7");
}

TEST(WriteJson, reports_a_full_device_and_a_missing_folder) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  EXPECT_TRUE(holds(error_of(Errc::system, [] { write_json_atomically("/dev/full", 1); }),
                    "/dev/full: cannot write: No space left on device"));
  const Folder folder;
  error_of(Errc::system, [&] { write_json_atomically(folder / "no/a.json", 1); });
}

TEST(WriteJson, leaves_no_temporary_file_when_it_fails) {
  const Folder folder;
  fs::create_directory(folder / "a.json");
  error_of(Errc::system, [&] { write_json_atomically(folder / "a.json", 1); });
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteJson, replaces_bytes_that_are_not_utf8) {
  const Folder folder;
  write_json_atomically(folder / "a.json", "bad \xff byte");
  EXPECT_EQ(read_json(folder / "a.json"), "bad \xef\xbf\xbd byte");
}

TEST(RequireWritable, leaves_no_trace) {
  const Folder folder;
  require_writable(folder / "new.json", "-o");
  EXPECT_EQ(folder.entries(), 0U);
  write_text(folder / "old.json", "keep");
  require_writable(folder / "old.json", "-o");
  EXPECT_EQ(text_of(folder / "old.json"), "keep");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(RequireWritable, refuses_what_cannot_be_a_result_file) {
  const Folder folder;
  write_text(folder / "file", "");
  const std::string long_name(300, 'x');
  const fs::path paths[] = {"",
                            folder / ".",
                            folder / "",
                            folder / "no/a.json",
                            folder / "file/a.json",
                            folder / long_name.c_str(),
                            "/proc/no-such-entry"};
  for (const auto& path : paths) {
    const auto message = error_of(Errc::usage, [&] { require_writable(path, "--samples"); });
    EXPECT_EQ(message.rfind("--samples: ", 0), 0U) << message;
    EXPECT_TRUE(holds(message, path.string())) << message;
  }
}

TEST(RequireWritable, accepts_a_device) { require_writable("/dev/null", "-o"); }

TEST(Finite, turns_nan_and_infinities_into_null) {
  EXPECT_EQ(finite(0.5).dump(), "0.5");
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(finite(value).dump(), "null");
  }
}

TEST(StrictObject, gives_typed_values_and_accepts_a_fully_read_object) {
  const Json json =
      parse_json(R"({"s":"x","n":-1.5,"c":18446744073709551615,"b":true,"o":null})", "f");
  StrictObject object(json, "row 3");
  EXPECT_EQ(object.string("s"), "x");
  EXPECT_EQ(object.number("n"), -1.5);
  EXPECT_EQ(object.count("c"), 18446744073709551615ULL);
  EXPECT_TRUE(object.boolean("b"));
  ASSERT_NE(object.find("o"), nullptr);
  EXPECT_TRUE(object.find("o")->is_null());
  EXPECT_EQ(object.find("absent"), nullptr);
  object.finish();
}

TEST(StrictObject, names_where_and_key_of_a_missing_or_mistyped_value) {
  const Json json = parse_json(R"({"s":1,"n":"1","c":-1,"f":1.0,"big":1e20,"b":0,"o":{}})", "f");
  StrictObject object(json, "row 3");
  EXPECT_EQ(error_of(Errc::usage, [&] { object.at("x"); }), "row 3: missing key \"x\"");
  EXPECT_EQ(error_of(Errc::usage, [&] { object.string("s"); }),
            "row 3: \"s\" must be a string, not 1");
  EXPECT_EQ(error_of(Errc::usage, [&] { object.number("n"); }),
            "row 3: \"n\" must be a number, not \"1\"");
  for (const char* key : {"c", "f", "big", "b2", "n", "o"}) {
    error_of(Errc::usage, [&] { object.count(key); });
  }
  EXPECT_EQ(error_of(Errc::usage, [&] { object.boolean("b"); }),
            "row 3: \"b\" must be true or false, not 0");
  EXPECT_EQ(error_of(Errc::usage, [&] { object.string("o"); }),
            "row 3: \"o\" must be a string, not object");
  EXPECT_EQ(error_of(Errc::usage, [] { StrictObject(Json::array(), "run"); }),
            "run: must be an object, not array");
}

TEST(StrictObject, refuses_keys_that_were_never_asked_for) {
  const Json json = parse_json(R"({"a":1,"typo":2,"note":3,"more":4})", "f");
  StrictObject object(json, "table");
  object.at("a");
  EXPECT_EQ(error_of(Errc::usage, [&] { object.finish({"note"}); }),
            "table: unknown key \"typo\", \"more\"");
  object.finish({"note", "typo", "more"});
}

}  // namespace
}  // namespace commtune
