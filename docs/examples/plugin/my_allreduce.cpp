// Allreduce through rank 0: it collects every vector, adds them in the order of ranks and sends the
// sum back. Built outside the tree of commtune, against its headers alone:
//
//   c++ -std=c++20 -O2 -fPIC -shared -I PATH/TO/commtune my_allreduce.cpp -o my_allreduce.so
//   commtune verify allreduce/star --plugin ./my_allreduce.so --ranks 1:16
//   commtune bench allreduce --plugin ./my_allreduce.so --algorithm star,ring -n 4
#include "collectives/exchange/plugin.hpp"

namespace {

using namespace commtune;

Schedule generate(const Shape& shape, const Params&) {
  ScheduleBuilder program(Collective::allreduce, shape, 1);
  if (shape.rank != 0) {
    program.send(0, in(0));
    program.recv(0, out(0));
    return std::move(program).finish();
  }
  program.copy(in(0), out(0));
  for (Rank peer = 1; peer < shape.size; ++peer) {
    const Slice landing = tmp(peer % 2, 0);  // two, so that one is added while the other arrives
    program.recv(peer, landing);
    program.reduce(out(0), landing, out(0));
  }
  for (Rank peer = 1; peer < shape.size; ++peer) program.send(peer, out(0));
  return std::move(program).finish();
}

const Algorithm star{.collective = Collective::allreduce,
                     .name = "star",
                     .generate = generate,
                     .tunables = "",
                     .summary = "everything through rank 0, 2(P-1)(alpha + n beta)",
                     .cost = "2(P-1)(alpha + n beta) + (P-1) n gamma"};

}  // namespace

extern "C" const commtune::AlgorithmPlugin* commtune_algorithm_plugin() {
  static const Algorithm* const all[] = {&star};
  static const AlgorithmPlugin plugin{.algorithms = all};
  return &plugin;
}
