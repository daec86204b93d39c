// Hierarchical (node-aware) alltoall: all that one group sends to another is one message.
//
//   In every group, the rank at position D modulo the group's size handles group D.
//   1: inside every group, each rank hands each handler what it sends to the handler's groups, in
//      one message, together with its block for the handler itself
//   2: the handlers of two groups for each other exchange one message of g*g blocks, each rank with
//      its groups in turn, in an order in which partners meet
//   3: inside every group, the handlers deliver what arrived, one message for each member
//
//   cost: 2(g-1) alpha + P/g^2 alpha + 3 (P-1) m beta, g ranks in a group, m bytes from one rank to
//   another
//   Wins for short blocks and many groups: P/g messages per group and step go between groups,
//   instead of g P. All data moves three times, but only once between groups.
//   Traeff & Rougier, EuroMPI/ASIA 2014.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

class NodeAware {
 public:
  NodeAware(const Shape& shape, const Params& params)
      : shape_(shape),
        groups_(shape.size, params),
        group_(groups_.of(shape.rank)),
        first_(groups_.first(group_)),
        members_(groups_.members(group_)),
        program_(Collective::alltoall, shape, 1) {}

  Schedule generate() && {
    collect();
    exchange();
    deliver();
    return std::move(program_).finish();
  }

 private:
  std::uint32_t block(Rank from, Rank to) const {
    return static_cast<std::uint32_t>(from * shape_.size + to);
  }
  std::uint32_t members(Rank group) const {
    return static_cast<std::uint32_t>(groups_.members(group));
  }
  Rank handler(Rank in, Rank of) const { return groups_.first(in) + of % groups_.members(in); }
  /// The other groups that a member of this group handles.
  std::vector<Rank> handled(Rank member) const {
    std::vector<Rank> all;
    for (Rank other = member - first_; other < groups_.count(); other += members_) {
      if (other != group_) all.push_back(other);
    }
    return all;
  }
  /// Slots: of what member i wants group h (in the order of handled()) to have, of what member i
  /// of the h-th group sends here, and of what member i sends to this rank.
  std::uint32_t outgoing(std::size_t h, Rank i) const {
    return static_cast<std::uint32_t>(h) * static_cast<std::uint32_t>(members_) +
           static_cast<std::uint32_t>(i);
  }
  std::uint32_t incoming(std::size_t h, Rank i) const {
    const auto mine = handled(shape_.rank).size();
    return outgoing(mine, 0) +
           static_cast<std::uint32_t>(h) * static_cast<std::uint32_t>(groups_.width) +
           static_cast<std::uint32_t>(i);
  }
  std::uint32_t direct(Rank i) const {
    return incoming(handled(shape_.rank).size(), 0) + static_cast<std::uint32_t>(i);
  }

  void collect();
  void exchange();
  void deliver();

  Shape shape_;
  Groups groups_;
  Rank group_, first_, members_;
  ScheduleBuilder program_;
};

void NodeAware::collect() {
  const auto mine = handled(shape_.rank);
  const auto given = [&](Rank from, Rank other, Slice at) {
    return Slice{at.buffer, at.slot, block(from, groups_.first(other)), members(other)};
  };
  for (Rank k = 1; k < members_; ++k) {
    const Rank to = first_ + around(shape_.rank - first_ + k, members_);
    const Rank from = first_ + around(shape_.rank - first_ - k, members_);
    std::vector<Slice> message{in(block(shape_.rank, to))};
    for (const Rank other : handled(to)) message.push_back(given(shape_.rank, other, in(0)));
    program_.send(to, message);
    const std::uint32_t own = block(from, shape_.rank);
    message = {shape_.in_place ? tmp(direct(from - first_), own) : out(own)};
    for (std::size_t h = 0; h < mine.size(); ++h) {
      message.push_back(given(from, mine[h], tmp(outgoing(h, from - first_), 0)));
    }
    program_.recv(from, message);
  }
  const std::uint32_t own = block(shape_.rank, shape_.rank);
  program_.copy(in(own), out(own));
}

void NodeAware::exchange() {
  // In round s, group G meets group s - G: all handlers agree on the order of their meetings.
  const auto mine = handled(shape_.rank);
  std::vector<std::pair<Rank, std::size_t>> rounds;
  for (std::size_t h = 0; h < mine.size(); ++h) {
    rounds.emplace_back(around(mine[h] + group_, groups_.count()), h);
  }
  std::sort(rounds.begin(), rounds.end());
  for (const auto& [round, h] : rounds) {
    const Rank other = mine[h], peer = handler(other, group_);
    std::vector<Slice> message;
    for (Rank i = 0; i < members_; ++i) {
      const std::uint32_t first = block(first_ + i, groups_.first(other));
      message.push_back(first_ + i == shape_.rank ? in(first, members(other))
                                                  : tmp(outgoing(h, i), first, members(other)));
    }
    program_.send(peer, message);
    message.clear();
    for (Rank i = 0; i < groups_.members(other); ++i) {
      message.push_back(
          tmp(incoming(h, i), block(groups_.first(other) + i, first_), members(group_)));
    }
    program_.recv(peer, message);
  }
}

void NodeAware::deliver() {
  const auto mine = handled(shape_.rank);
  for (Rank k = 1; k < members_; ++k) {
    const Rank to = first_ + around(shape_.rank - first_ + k, members_);
    const Rank from = first_ + around(shape_.rank - first_ - k, members_);
    std::vector<Slice> message;
    for (std::size_t h = 0; h < mine.size(); ++h) {
      for (Rank i = 0; i < groups_.members(mine[h]); ++i) {
        message.push_back(tmp(incoming(h, i), block(groups_.first(mine[h]) + i, to)));
      }
    }
    program_.send(to, message);
    message.clear();
    for (const Rank other : handled(from)) {
      for (Rank i = 0; i < groups_.members(other); ++i) {
        message.push_back(out(block(groups_.first(other) + i, shape_.rank)));
      }
    }
    program_.recv(from, message);
  }
  for (std::size_t h = 0; h < mine.size(); ++h) {
    for (Rank i = 0; i < groups_.members(mine[h]); ++i) {
      const std::uint32_t own = block(groups_.first(mine[h]) + i, shape_.rank);
      program_.copy(tmp(incoming(h, i), own), out(own));
    }
  }
  if (!shape_.in_place) return;
  for (Rank from = first_; from < first_ + members_; ++from) {
    const std::uint32_t own = block(from, shape_.rank);
    if (from != shape_.rank) program_.copy(tmp(direct(from - first_), own), out(own));
  }
}

Schedule generate(const Shape& shape, const Params& params) {
  return NodeAware(shape, params).generate();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse_groups(shape, params, false);
}

}  // namespace

extern constinit const Algorithm alltoall_hierarchical{
    .collective = Collective::alltoall,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "group",
    .summary =
        "collect by group, one message between each two groups, deliver (Traeff & Rougier 2014)",
    .cost = "2(g-1) alpha + P/g^2 alpha + 3(P-1) m beta, g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
