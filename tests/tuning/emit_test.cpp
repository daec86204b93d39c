#include "tuning/openmpi/emit.hpp"

#include <gtest/gtest.h>
#include <set>

#include "core/error.hpp"
#include "tuning/openmpi/lint.hpp"

namespace commtune::openmpi {
namespace {

TableRule rule(std::uint64_t from, const std::string& algorithm, Json params = Json::object()) {
  TableRule made;
  made.from_bytes = from;
  made.algorithm = algorithm;
  made.params = std::move(params);
  made.evidence = "traced";
  return made;
}

TableEntry entry(Collective collective, int ranks, std::vector<TableRule> rules) {
  TableEntry made;
  made.collective = collective;
  made.ranks = ranks;
  made.ppn = ranks;
  made.dtype_class = "float";
  made.library = "openmpi";
  made.rules = std::move(rules);
  return made;
}

DecisionTable table(std::vector<TableEntry> entries) {
  DecisionTable made;
  made.run = {{"started", "2024-01-01T00:00:00Z"},
              {"hosts", {"node1"}},
              {"library", {{"name", "openmpi"}, {"version", "4.1.4"}}}};
  made.entries = std::move(entries);
  made.measured_low = 8;
  made.measured_high = 1 << 20;
  return made;
}

std::string without_comments(const std::string& text) {
  std::string out;
  bool comment = false;
  for (const char c : text) {
    if (c == '#') comment = true;
    if (c == '\n') {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      if (!out.empty() && out.back() != '\n') out += '\n';
      comment = false;
    } else if (!comment) {
      out += c;
    }
  }
  return out;
}

std::string numbers(const DecisionTable& made, Profile profile) {
  return without_comments(emit_rules(made, Family::v4_1, profile).text);
}

std::string chosen(const RulesFile& file, Collective collective, int ranks, std::uint64_t bytes) {
  const TunedCollective& which = tuned(collective);
  const MessageRule* found = select(file, which.id, ranks, key_of(which.key, bytes, ranks));
  if (found == nullptr) return "default";
  return std::string(find_algorithm(which, found->algorithm, Family::v4_1)->name);
}

const DecisionTable& mixed() {
  static const DecisionTable made = table(
      {entry(Collective::allreduce, 3,
             {rule(0, "default"), rule(8, "recursive_doubling"), rule(65536, "ring"),
              rule(262144, "segmented_ring", {{"segsize", 65536U}}), rule(2097152, "default")}),
       entry(Collective::allreduce, 4, {rule(0, "rabenseifner"), rule(4096, "default")}),
       entry(Collective::allgather, 3, {rule(0, "default"), rule(1000, "bruck")})});
  return made;
}

TEST(Tuned, every_collective_of_mpi_has_an_id_of_its_own) {
  std::set<int> ids;
  for (const Collective collective : all_collectives()) ids.insert(tuned(collective).id);
  EXPECT_EQ(ids.size(), all_collectives().size());
  EXPECT_EQ(tuned(Collective::sendrecv).id, -1);
  EXPECT_TRUE(tuned(Collective::sendrecv).algorithms.empty());
}

TEST(EmitRules, writes_guarded_blocks_in_the_units_of_each_collective) {
  EXPECT_EQ(numbers(mixed(), Profile::commutative),
            "2\n"
            "0\n3\n"
            "0\n1\n0 0 0 0\n"
            "3\n2\n0 0 0 0\n3000 2 0 0\n"
            "4\n1\n0 0 0 0\n"
            "2\n4\n"
            "0\n1\n0 0 0 0\n"
            "3\n5\n0 0 0 0\n8 3 0 0\n65536 4 0 0\n262144 5 0 65536\n2097152 0 0 0\n"
            "4\n2\n0 6 0 0\n4096 0 0 0\n"
            "5\n1\n0 0 0 0\n");
}

TEST(EmitRules, the_safe_profile_falls_back_to_the_default_and_says_so) {
  const Emitted emitted = emit_rules(mixed(), Family::v4_1, Profile::safe);
  EXPECT_EQ(emitted.warnings.size(), 2U);
  EXPECT_NE(emitted.warnings[0].find("ring is wrong for operators that do not commute"),
            std::string::npos);
  const RulesFile file = parse_rules(emitted.text, Family::v4_1);
  EXPECT_EQ(chosen(file, Collective::allreduce, 3, 8), "recursive_doubling");
  EXPECT_EQ(chosen(file, Collective::allreduce, 3, 65536), "default");
  EXPECT_EQ(chosen(file, Collective::allreduce, 3, 262144), "default");
}

TEST(EmitRules, every_size_reads_back_as_the_table_says) {
  const Emitted emitted = emit_rules(mixed(), Family::v4_1, Profile::commutative);
  EXPECT_TRUE(emitted.warnings.empty());
  const RulesFile file = parse_rules(emitted.text, Family::v4_1);
  ASSERT_TRUE(file.accepted);
  for (const TableEntry& each : mixed().entries) {
    for (std::uint64_t bytes = 4; bytes <= 1U << 22; bytes += bytes < 4096 ? 4 : bytes / 8 * 4) {
      EXPECT_EQ(chosen(file, each.collective, each.ranks, bytes),
                rule_for(each.rules, bytes).algorithm)
          << name(each.collective) << " on " << each.ranks << ", " << bytes;
    }
  }
}

TEST(EmitRules, communicators_that_were_not_measured_keep_the_default) {
  const RulesFile file =
      parse_rules(emit_rules(mixed(), Family::v4_1, Profile::commutative).text, Family::v4_1);
  for (const int ranks : {1, 2, 5, 6, 64}) {
    EXPECT_EQ(chosen(file, Collective::allreduce, ranks, 65536), "default") << ranks;
  }
  for (const int ranks : {2, 4, 5}) {
    EXPECT_EQ(chosen(file, Collective::allgather, ranks, 1000), "default") << ranks;
  }
}

TEST(EmitRules, passes_its_own_lint) {
  for (const Family family : {Family::v4_1, Family::v5_0}) {
    const auto findings = lint(emit_rules(mixed(), family, Profile::safe).text, family);
    for (const Finding& finding : findings) ADD_FAILURE() << finding.line << ": " << finding.text;
  }
  const auto findings =
      lint(emit_rules(mixed(), Family::v4_1, Profile::commutative).text, Family::v4_1);
  EXPECT_EQ(findings.size(), 2U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.severity, Finding::Severity::warning) << finding.text;
  }
}

TEST(EmitRules, says_how_to_use_the_file_and_where_it_comes_from) {
  const std::string text = emit_rules(mixed(), Family::v4_1, Profile::commutative).text;
  EXPECT_NE(text.find("coll_tuned_use_dynamic_rules 1"), std::string::npos);
  EXPECT_NE(text.find("openmpi 4.1.4 on node1"), std::string::npos) << text;
  EXPECT_NE(text.find("WRONG RESULTS"), std::string::npos);
}

TEST(EmitRules, a_line_break_in_the_table_cannot_leave_its_comment) {
  DecisionTable made = mixed();
  made.warnings = {"two\n9 9 9"};
  EXPECT_TRUE(
      parse_rules(emit_rules(made, Family::v4_1, Profile::safe).text, Family::v4_1).accepted);
}

TEST(EmitRules, drops_algorithms_that_cannot_run_with_these_ranks) {
  const DecisionTable made =
      table({entry(Collective::allgather, 3, {rule(0, "two_proc"), rule(64, "neighbor")})});
  const Emitted emitted = emit_rules(made, Family::v4_1, Profile::safe);
  EXPECT_EQ(emitted.warnings.size(), 2U);
  EXPECT_EQ(chosen(parse_rules(emitted.text, Family::v4_1), Collective::allgather, 3, 64),
            "default");
}

TEST(EmitRules, keeps_one_rule_where_the_library_cannot_tell_sizes_apart) {
  const DecisionTable made =
      table({entry(Collective::barrier, 3, {rule(0, "tree"), rule(64, "bruck")})});
  const Emitted emitted = emit_rules(made, Family::v4_1, Profile::safe);
  EXPECT_EQ(emitted.warnings.size(), 1U);
  EXPECT_EQ(without_comments(emitted.text),
            "1\n6\n3\n0\n1\n0 0 0 0\n3\n1\n0 6 0 0\n4\n1\n0 0 0 0\n");
}

TEST(EmitRules, leaves_out_other_libraries_and_second_entries_of_one_size) {
  DecisionTable made = mixed();
  made.entries[1].library = "mpich";
  made.entries.push_back(made.entries[0]);
  made.entries.back().nodes = 3;
  const Emitted emitted = emit_rules(made, Family::v4_1, Profile::commutative);
  EXPECT_EQ(emitted.warnings.size(), 2U);
  for (TableEntry& each : made.entries) each.library = "mpich";
  EXPECT_THROW(emit_rules(made, Family::v4_1, Profile::safe), Error);
}

TEST(EmitRules, refuses_an_algorithm_the_library_does_not_have) {
  const DecisionTable made = table({entry(Collective::allgather, 3, {rule(0, "sparbit")})});
  EXPECT_THROW(emit_rules(made, Family::v4_1, Profile::safe), Error);
  EXPECT_NO_THROW(emit_rules(made, Family::v5_0, Profile::safe));
}

TEST(SizeKey, turns_into_bytes_and_back) {
  for (const std::uint64_t bytes : {1U, 8U, 1000U, 65536U}) {
    for (const int ranks : {1, 3, 7}) {
      for (const SizeKey key : {SizeKey::vector_bytes, SizeKey::total_bytes}) {
        EXPECT_EQ(bytes_of(key, key_of(key, bytes, ranks), ranks), bytes);
      }
    }
  }
  EXPECT_EQ(bytes_of(SizeKey::total_bytes, 4097, 3), 1366U);
}

}  // namespace
}  // namespace commtune::openmpi
