#pragma once
#include <deque>
#include <vector>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// The partial sums of one rank in a reduce-scatter that moves parts one by one. They live in the
/// input until the first addition and in scratch after it, one slot a part; the rank's own part is
/// summed in the output, where it stays.
class PartialSums {
 public:
  /// `program` outlives this object and has one block per part.
  PartialSums(ScheduleBuilder& program, const Shape& shape)
      : program_(program), own_(static_cast<std::uint32_t>(shape.rank)) {
    for (std::uint32_t part = 0; part < static_cast<std::uint32_t>(shape.size); ++part) {
      sums_.push_back(in(part));
    }
  }

  Slice at(std::uint32_t part) const { return sums_[part]; }

  /// Receives the whole vector of `peer` and adds this rank's.
  void absorb(Rank peer) {
    const auto parts = static_cast<std::uint32_t>(sums_.size());
    const Slice landing = tmp(next_slot_++, 0, parts), mine = in(0, parts);
    program_.recv(peer, landing);
    const bool lower = peer < static_cast<Rank>(own_);
    program_.reduce(lower ? landing : mine, lower ? mine : landing, landing);
    for (std::uint32_t part = 0; part < parts; ++part) sums_[part] = tmp(landing.slot, part);
    whole_ = landing.slot;
  }

  /// Sends the sums of `given` to `to`, which frees their slots, and adds those of `kept` from
  /// `from`. Either may be empty.
  void exchange(Rank to, const std::vector<std::uint32_t>& given, Rank from,
                const std::vector<std::uint32_t>& kept) {
    std::vector<Slice> outgoing, incoming;
    for (const std::uint32_t part : given) outgoing.push_back(sums_[part]);
    for (const std::uint32_t part : kept) incoming.push_back(tmp(take_slot(), part));
    program_.send(to, outgoing);
    program_.recv(from, incoming);
    const bool lower = from < static_cast<Rank>(own_);
    for (const Slice landing : incoming) {
      const std::uint32_t part = landing.first;
      const Slice mine = sums_[part], sum = part == own_ ? out(part) : landing;
      program_.reduce(lower ? landing : mine, lower ? mine : landing, sum);
      free_slot(part == own_ ? landing : mine);
      sums_[part] = sum;
    }
    for (const Slice sent : outgoing) free_slot(sent);
  }

 private:
  std::uint32_t take_slot() {
    if (free_.empty()) return next_slot_++;
    const std::uint32_t slot = free_.front();
    free_.pop_front();
    return slot;
  }
  void free_slot(Slice slice) {
    if (slice.buffer == BufferId::scratch && slice.slot != whole_) free_.push_back(slice.slot);
  }

  static constexpr std::uint32_t none = 0xffffffff;
  ScheduleBuilder& program_;
  std::uint32_t own_, next_slot_ = 0, whole_ = none;
  std::vector<Slice> sums_;
  std::deque<std::uint32_t> free_;  ///< the one freed first is taken first
};

}  // namespace commtune
