#!/bin/sh
# check-parity on a made-up tree: accepts matching lists, rejects each difference.
# shellcheck disable=SC2016
set -eu
. tests/meta/expect.sh
check=scripts/check-parity

expect 1 "no registry.cpp found" "$check" "$tree"

echo 'extern const Importer four_importer;' | write dnn_proxy/importers/registry.cpp
echo 'extern const Importer four_importer{' | write dnn_proxy/importers/four.cpp
printf '#define LIST(X) \\\n  X(one) \\\n  X(two)\n' | write microbench/registry.cpp
echo 'extern const Benchmark benchmark_one{.name = "one"};' | write microbench/one.cpp
echo 'extern constinit const Benchmark two{' | write microbench/two.cpp
echo 'void helper() {}' | write microbench/helper.cpp
printf '#define LIST(X) \\\n  X(allreduce_ring)\n' | write collectives/algorithms/registry.cpp
echo 'int x;' | write collectives/algorithms/allreduce_ring.cpp
printf '[design](docs/design.md)\n`allreduce/ring`\n' | write ./README.md
echo 'See [the readme](../README.md) and [elsewhere](https://example.org).' | write docs/design.md
printf 'Look at `microbench/one.cpp`, `broadcast/linear`.\n```\n`microbench/new.cpp`\n```\n' | write docs/adding.md
echo 'int t;' | write tests/room/one_test.cpp
compiled() {
  {
    echo '['
    for file in "$@"; do printf '  "file": "%s",\n' "$(cd "$tree" && pwd -P)/$file"; done
    echo ']'
  } | write build/compile_commands.json
}
all="microbench/registry.cpp microbench/one.cpp microbench/two.cpp microbench/helper.cpp
  dnn_proxy/importers/registry.cpp dnn_proxy/importers/four.cpp
  collectives/algorithms/registry.cpp collectives/algorithms/allreduce_ring.cpp"
# shellcheck disable=SC2086
compiled $all tests/room/one_test.cpp
expect 0 "3 registries" "$check" "$tree" "$tree/build"

# shellcheck disable=SC2086
compiled $all
expect 1 "tests/room/one_test.cpp is compiled by no target" "$check" "$tree" "$tree/build"

# differs FILE CONTENT TEXT: with CONTENT in FILE the check must fail with TEXT.
differs() {
  if [ -f "$tree/$1" ]; then cp "$tree/$1" "$tree/saved"; fi
  printf '%b\n' "$2" >"$tree/$1"
  expect 1 "$3" "$check" "$tree"
  if [ -f "$tree/saved" ]; then mv "$tree/saved" "$tree/$1"; else rm "$tree/$1"; fi
}
differs microbench/three.cpp 'extern const Benchmark benchmark_three{};' "microbench/three.cpp is not in"
differs microbench/registry.cpp ' X(one)' "microbench/two.cpp is not in"
differs microbench/registry.cpp ' X(one)\n X(two)\n X(gone)' "lists gone"
differs microbench/registry.cpp ' X(one)\n X(two)\n X(two)' "lists two twice"
differs microbench/registry.cpp 'nothing' "lists nothing"
differs dnn_proxy/importers/five.cpp 'extern const Importer five_importer{' "five.cpp is not in"
differs README.md '`allreduce/ring` `broadcast/lost`' "README.md names broadcast/lost"
differs docs/design.md '[gone](gone.md#part)' "links to gone.md"
differs docs/adding.md 'See `microbench/gone.hpp`.' "names microbench/gone.hpp"
finish
