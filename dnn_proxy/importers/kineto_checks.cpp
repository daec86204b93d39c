#include "dnn_proxy/importers/kineto_checks.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace commtune {
namespace {

void check_group(const KinetoEvents& events, const CommRecord& record, const std::string& where) {
  const Group& group = events.groups.at(record.group);
  const std::size_t size = group.ranks.size();
  require(size > 0 && record.group_size != 0U, "{}: process group \"{}\" is empty", where,
          group.name);
  require(!record.group_size || *record.group_size == size,
          "{}: \"Group size\" is {}, but process group \"{}\" has {} ranks", where,
          record.group_size.value_or(0), group.name, size);
  if (!events.rank) return;
  require(std::find(group.ranks.begin(), group.ranks.end(), *events.rank) != group.ranks.end(),
          "{}: recorded on rank {}, which is not in process group \"{}\" of ranks [{}]", where,
          *events.rank, group.name, fmt::join(group.ranks, ", "));
}

void check_splits(const std::vector<std::uint64_t>& splits, std::uint64_t elements,
                  std::size_t group_size, const std::string& where) {
  if (splits.empty()) return;
  require(splits.size() == group_size, "{}: [{}] has {} entries in a group of {} ranks", where,
          fmt::join(splits, ", "), splits.size(), group_size);
  const std::uint64_t sum = checked_sum(splits, where);
  require(sum == elements, "{}: [{}] sum to {}, but the message has {} elements", where,
          fmt::join(splits, ", "), sum, elements);
}

/// `whole` is the side with a part for every rank of the group; 0 elements: not recorded.
void check_parts(std::uint64_t part, std::uint64_t whole, std::size_t group_size,
                 std::string_view part_key, std::string_view whole_key, const CommRecord& record,
                 const std::string& where) {
  if (part == 0 || whole == 0) return;
  require(checked_product(part, group_size, where) == whole,
          "{}: {} of {} elements {} and {} {} in a group of {} ranks: expected {}", where,
          name(record.what.kind), part, part_key, whole, whole_key, group_size, part * group_size);
}

}  // namespace

void check_records(const KinetoEvents& events) {
  for (const CommRecord& record : events.records) {
    if (record.what.record != RecordKind::transfer) continue;
    const std::string where =
        fmt::format("{}: event {} ({})", events.path, record.event, name(record.what.kind));
    check_group(events, record, where);
    const std::size_t size = events.groups[record.group].ranks.size();
    const CommKind kind = record.what.kind;
    if (kind == CommKind::all_to_all) {
      check_splits(record.send_splits, record.in_count, size, where + " \"In split size\"");
      check_splits(record.recv_splits, record.out_count, size, where + " \"Out split size\"");
    } else if (kind == CommKind::allgather) {
      check_parts(record.in_count, record.out_count, size, "in", "out", record, where);
    } else if (kind == CommKind::reduce_scatter) {
      check_parts(record.out_count, record.in_count, size, "out", "in", record, where);
    }
  }
}

}  // namespace commtune
