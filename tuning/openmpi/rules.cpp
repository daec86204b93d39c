#include "tuning/openmpi/rules.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>

namespace commtune::openmpi {
namespace {

using Severity = Finding::Severity;
constexpr std::string_view version_header = "rule-file-version-";
constexpr std::size_t longest_quote = 64;  ///< of a word in a finding

struct Token {
  long value;
  std::size_t line;
};

/// The numbers of a file, in the order and with the values that scanf("%li") gives.
class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Finding>& findings) : text_(text), findings_(findings) {}

  std::optional<Token> next() {
    skip_to_number();
    if (at_ >= text_.size()) return std::nullopt;
    const std::size_t begin = at_;
    const Token token{read_number(), line_};
    if (at_ < text_.size() && (std::isalnum(byte(at_)) != 0 || text_[at_] == '_')) {
      if (!told_) {
        add(Severity::error, "\"{}\" is read as {}, the rest is skipped or read as another number",
            word(begin), token.value);
      }
      skipping_ = told_ = true;
    }
    return token;
  }

  /// True when another number stands on the current line.
  bool more_on_line() const {
    std::size_t i = at_;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    return i < text_.size() && std::isdigit(byte(i)) != 0;
  }

  std::size_t line() const { return line_; }

 private:
  unsigned char byte(std::size_t i) const { return static_cast<unsigned char>(text_[i]); }
  bool digit_at(std::size_t i) const { return i < text_.size() && std::isdigit(byte(i)) != 0; }

  /// What stands from `begin` to the next space or comment, cut where it is long.
  std::string_view word(std::size_t begin) const {
    std::size_t end = begin;
    while (end < text_.size() && end - begin < longest_quote && std::isspace(byte(end)) == 0 &&
           text_[end] != '#') {
      ++end;
    }
    return text_.substr(begin, end - begin);
  }

  template <class... Args>
  void add(Severity severity, fmt::format_string<Args...> text, Args&&... args) {
    findings_.push_back({severity, line_, fmt::format(text, std::forward<Args>(args)...)});
  }

  void skip_to_number() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool sign = (c == '-' || c == '+') && digit_at(at_ + 1);
      if (sign || digit_at(at_)) return;
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        continue;
      }
      if (c == '\n') ++line_;
      if (std::isspace(byte(at_)) != 0) {
        skipping_ = told_ = false;
      } else if (!skipping_) {
        add(Severity::warning, "\"{}\" is not a number: skipped", word(at_));
        skipping_ = true;
      }
      ++at_;
    }
  }

  long read_number() {
    const bool negative = text_[at_] == '-';
    if (negative || text_[at_] == '+') ++at_;
    unsigned base = 10;
    if (text_[at_] == '0' && at_ + 2 < text_.size() && (text_[at_ + 1] | 0x20) == 'x' &&
        std::isxdigit(byte(at_ + 2)) != 0) {
      base = 16;
      at_ += 2;
    } else if (text_[at_] == '0' && digit_at(at_ + 1)) {
      base = 8;
    }
    const std::size_t begin = at_;
    long value = 0;
    for (; at_ < text_.size(); ++at_) {
      const long digit = digit_value(text_[at_]);
      if (digit < 0 || digit >= static_cast<long>(base)) break;
      if (__builtin_mul_overflow(value, static_cast<long>(base), &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        value = __LONG_MAX__;
      }
    }
    if (base == 8) {
      add(Severity::warning, "\"{}\" starts with 0 and is read as octal: {}",
          text_.substr(begin, std::min(at_ - begin, longest_quote)), value);
    }
    return negative ? -value : value;
  }

  static long digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }

  std::string_view text_;
  std::vector<Finding>& findings_;
  std::size_t at_ = 0, line_ = 1;
  bool skipping_ = false;  ///< the rest of a word
  bool told_ = false;      ///< that a number of this word is not what it looks like
};

constexpr std::string_view dropped = "Open MPI ignores the whole file";

class Parser {
 public:
  Parser(std::string_view text, Family family) : lexer_(body(text, family), file_.findings) {}

  RulesFile read() && {
    file_.accepted = read_collectives() && !rejected_;
    if (file_.accepted) count_trailing();
    return std::move(file_);
  }

 private:
  std::string_view body(std::string_view text, Family family) {
    if (text.substr(0, version_header.size()) != version_header) return text;
    text.remove_prefix(version_header.size());
    versioned_ = !text.empty() && text[0] >= '2' && text[0] <= '9';
    if (family == Family::v4_1) {
      error(1, "a version header: 4.1.0 to 4.1.7 read it as a negative number, {}", dropped);
      rejected_ = true;
    } else {
      file_.findings.push_back(
          {Severity::warning, 1, "a version header needs Open MPI 5.0.7 or newer"});
    }
    while (!text.empty() && text[0] != '\n') text.remove_prefix(1);
    return text;
  }

  template <class... Args>
  void error(std::size_t line, fmt::format_string<Args...> text, Args&&... args) {
    file_.findings.push_back(
        {Severity::error, line, fmt::format(text, std::forward<Args>(args)...)});
  }

  /// The next number if it lies in [0, limit).
  bool number(std::string_view what, long limit, long& value, std::size_t& line) {
    const std::optional<Token> token = lexer_.next();
    if (!token) {
      error(lexer_.line(), "the file ends where the {} is expected: {}", what, dropped);
      return false;
    }
    value = token->value;
    line = token->line;
    if (value < 0 || value >= limit) {
      error(line, "the {} is {}, expected 0 to {}: {}", what, value, limit - 1, dropped);
      return false;
    }
    return true;
  }

  bool read_collectives() {
    long count = 0;
    std::size_t line = 0;
    if (!number("number of collectives", collective_count + 1, count, line)) return false;
    for (long i = 0; i < count; ++i) {
      CollectiveRules& rules = file_.collectives.emplace_back();
      if (!number("collective id", collective_count, rules.id, rules.line)) {
        file_.collectives.pop_back();
        return false;
      }
      rules.complete = read_blocks(rules);
      if (!rules.complete) return false;
    }
    return true;
  }

  bool read_blocks(CollectiveRules& rules) {
    long count = 0;
    std::size_t line = 0;
    if (!number("number of communicator sizes", any_long, count, line)) return false;
    for (long i = 0; i < count; ++i) {
      SizeBlock& block = rules.blocks.emplace_back();
      if (!number("communicator size", any_long, block.ranks, block.line)) {
        rules.blocks.pop_back();
        return false;
      }
      if (!read_messages(block)) return false;
    }
    return true;
  }

  bool read_messages(SizeBlock& block) {
    long count = 0;
    std::size_t line = 0;
    if (!number("number of message sizes", any_long, count, line)) return false;
    for (long i = 0; i < count; ++i) {
      MessageRule& rule = block.rules.emplace_back();
      long key = 0;
      if (!number("message size", any_long, key, rule.line) ||
          !number("algorithm", any_long, rule.algorithm, line) ||
          !number("fan in/out", any_long, rule.faninout, line) ||
          !number("segment size", any_long, rule.segsize, line)) {
        block.rules.pop_back();
        return false;
      }
      rule.from_key = static_cast<std::uint64_t>(key);
      if (i == 0 && key != 0) {
        error(rule.line, "the first message size of a block is {}, it must be 0: {}", key, dropped);
        rejected_ = true;
      }
      if (versioned_ && lexer_.more_on_line() &&
          !number("number of requests", any_long, rule.max_requests, line)) {
        return false;
      }
    }
    return true;
  }

  void count_trailing() {
    std::size_t count = 0, line = 0;
    while (const std::optional<Token> token = lexer_.next()) {
      if (count++ == 0) line = token->line;
    }
    if (count > 0) {
      error(line, "{} numbers after the last rule are never read: a count is too small", count);
    }
  }

  static constexpr long any_long = __LONG_MAX__;
  RulesFile file_;
  bool rejected_ = false, versioned_ = false;
  Lexer lexer_;
};

}  // namespace

std::string_view name(Finding::Severity severity) noexcept {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
  }
  return "";
}

RulesFile parse_rules(std::string_view text, Family family) { return Parser(text, family).read(); }

const SizeBlock* select_block(const RulesFile& file, int collective, long ranks) {
  const CollectiveRules* rules = nullptr;
  for (const CollectiveRules& candidate : file.collectives) {
    if (candidate.id == collective) rules = &candidate;
  }
  if (rules == nullptr || rules->blocks.empty()) return nullptr;
  const SizeBlock* block = &rules->blocks.front();
  for (const SizeBlock& candidate : rules->blocks) {
    if (candidate.ranks > ranks) break;
    block = &candidate;
  }
  return block;
}

const MessageRule* select(const RulesFile& file, int collective, long ranks, std::uint64_t key) {
  const SizeBlock* block = select_block(file, collective, ranks);
  if (block == nullptr || block->rules.empty()) return nullptr;
  const MessageRule* rule = &block->rules.front();
  for (const MessageRule& candidate : block->rules) {
    if (candidate.from_key > key) break;
    rule = &candidate;
  }
  return rule->algorithm == 0 ? nullptr : rule;
}

}  // namespace commtune::openmpi
