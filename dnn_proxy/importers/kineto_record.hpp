#pragma once
#include "dnn_proxy/importers/chrome_trace.hpp"
#include "dnn_proxy/importers/kineto_events.hpp"

namespace commtune {

/// The arguments of a communication record, in whichever style its producer used.
struct RecordArguments {
  std::string name;  ///< collective, as written
  std::string dtype;
  std::optional<std::uint64_t> in_count, out_count;
  std::optional<std::string> group;  ///< name or number; unset when the style has none
  std::optional<std::uint64_t> group_size;
  std::vector<Rank> group_ranks;  ///< empty: not given
  std::optional<bool> async;
  std::optional<Rank> peer;
  std::vector<std::uint64_t> send_splits, recv_splits;
};

/// record_param_comms of 2024 and later: "Collective name", "In msg nelems", ... `where` starts the
/// message of an Error(usage) about a field of the wrong type.
RecordArguments read_new_style(const Json& args, const std::string& where);
/// An annotation of a communication backend: name of the event, "Input Dims", "Input type".
RecordArguments read_annotation(const ChromeEvent&, const std::string& where);

/// A rank or number of ranks.
Rank rank_of(const Json& value, const std::string& where);
/// A non-negative integer written as integer, integral float or decimal text.
std::uint64_t integer_of(const Json& value, const std::string& where);
/// Integers from an array or from its text "[1, 2, 3]". With a text that was cut ("[0, 8, ...]")
/// the first two give the stride and `size` the length.
std::vector<std::uint64_t> integers_of(const Json& value, std::uint64_t size,
                                       const std::string& where);

}  // namespace commtune
