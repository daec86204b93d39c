// Recursive doubling reduce-scatter: partners at distance 1, 2, 4, ... exchange partial sums of
// all parts that the other still needs, on a hypercube of Q = 2^floor(log2 P) nodes.
//
//   fold:    the even rank of each extra pair sends its vector to the odd one, which adds it
//   step k:  node v exchanges with v xor 2^k the other's own part and the parts of all nodes
//   outside
//            the group of 2^(k+1) that holds both; the lower rank's operand comes first
//   unfold:  the odd rank of each pair sends the even one its part
//
//   cost: log2 P alpha + ((log2 P - 2(P-1)/P) n + log2 P m)(beta + gamma) for P = 2^i; otherwise
//         2 alpha + n (beta + gamma) + m beta more; n bytes in the whole vector, m in each part
//   Wins for very short vectors with an operator that is not commutative: fewer rounds than the
//   butterfly, and the order of ranks is kept.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/halving.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// Partial sums of one node: of the nodes below and above its group, and its own.
struct Sums {
  Slice below, above, own;
};

class Doubling {
 public:
  Doubling(ScheduleBuilder& program, const Fold& fold, Rank rank, Slice vector)
      : program_(program), fold_(fold), rank_(rank), sums_{vector, vector, vector} {}

  /// Leaves the last addition, of the node's own parts, to the caller: its operands are returned,
  /// lower ranks first.
  std::pair<Slice, Slice> run() {
    for (Rank distance = 1;; distance *= 2) {
      const Rank node = fold_.node(rank_), peer = fold_.rank(node ^ distance);
      const Rank group = node & ~(2 * distance - 1), beyond = group + 2 * distance;
      const Sums landing{tmp(slot_, 0), tmp(slot_ + 1, 0), tmp(slot_ + 2, 0)};
      slot_ = slot_ == 1 ? 4 : 1;
      const auto runs = [&](const Sums& sums, Rank owner) {
        return std::vector{nodes(sums.below, 0, group), nodes(sums.above, beyond, fold_.cube),
                           nodes(sums.own, owner, owner + 1)};
      };
      std::vector<Slice> held = runs(sums_, node), given = runs(sums_, node ^ distance);
      std::vector<Slice> arrived = runs(landing, node);
      // The other's own parts are below or above this node's group of 2^k.
      const Slice theirs = peer < rank_ ? sums_.below : sums_.above;
      given[2] = nodes(theirs, node ^ distance, (node ^ distance) + 1);
      program_.send(peer, present(given));
      program_.recv(peer, present(arrived));
      const bool first = peer < rank_;
      if (group == 0 && beyond == fold_.cube) {
        return first ? std::pair{arrived[2], held[2]} : std::pair{held[2], arrived[2]};
      }
      for (std::size_t i = 0; i < held.size(); ++i) {
        if (held[i].count == 0) continue;
        program_.reduce(first ? arrived[i] : held[i], first ? held[i] : arrived[i], arrived[i]);
      }
      sums_ = landing;
    }
  }

 private:
  Slice nodes(Slice of, Rank first, Rank end) const {
    of.first = first_part(fold_, first);
    of.count = first_part(fold_, end) - of.first;
    return of;
  }
  static std::vector<Slice> present(std::vector<Slice> runs) {
    std::erase_if(runs, [](const Slice& run) { return run.count == 0; });
    return runs;
  }

  ScheduleBuilder& program_;
  const Fold& fold_;
  Rank rank_;
  Sums sums_;
  std::uint32_t slot_ = 1;  ///< two sets of three, in turn; slot 0 holds what an idle rank sent
};

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  const auto parts = static_cast<std::uint32_t>(shape.size);
  const Fold fold(shape.size);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (shape.size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  if (fold.idle(rank)) {
    program.send(rank + 1, in(0, parts));
    program.recv(rank + 1, out(mine));
    return std::move(program).finish();
  }
  Slice vector = in(0, parts);
  if (fold.paired(rank)) {
    vector = tmp(0, 0, parts);
    program.recv(rank - 1, vector);
    program.reduce(vector, in(0, parts), vector);
  }
  const auto [low, high] = Doubling(program, fold, rank, vector).run();
  program.reduce(only(low, mine), only(high, mine), out(mine));
  if (fold.paired(rank)) {
    const std::uint32_t theirs = mine - 1;
    program.reduce(only(low, theirs), only(high, theirs), tmp(0, theirs));
    program.send(rank - 1, tmp(0, theirs));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_recursive_doubling{
    .collective = Collective::reduce_scatter,
    .name = "recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange partial sums of all parts still needed, "
        "L alpha + (L - 2(P-1)/P) n (beta + gamma) (Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L alpha + ((L - 2(P-1)/P) n + L m)(beta + gamma)"};

}  // namespace commtune
